"""The container: what its files say is true, and the program runs within what they allow."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import typer
from container import ROOT, Ran, compose_service, read_image, run_inside, why_not

from memstrata.cli.app import app
from memstrata.config import load_settings

IMAGE = read_image()
SERVICE, VOLUMES = compose_service()


SERVING = """
import http.client, json, subprocess, sys, time

key, command, health = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])

def ask(verb, **arguments):
    connection = http.client.HTTPConnection("127.0.0.1", 8283, timeout=20)
    head = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request("POST", f"/api/v1/{verb}", json.dumps(arguments), head)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()

service = subprocess.Popen(command)
deadline = time.monotonic() + 60
while (healthy := subprocess.run(health, stderr=subprocess.DEVNULL).returncode) != 0:
    assert service.poll() is None, "it ended by itself"
    assert time.monotonic() < deadline, "it does not get healthy"
    time.sleep(0.1)
said = ask("add", messages="The spare key is under the blue pot.", user_id="ana")
found = ask("search", query="where is the spare key?", user_id="ana")
service.terminate()
ended = service.wait(45)
sick = subprocess.run(health, stderr=subprocess.DEVNULL).returncode
print(json.dumps([healthy, said[0], found, ended, sick]))
"""


def mounted() -> dict[str, str]:
    """Where the named volumes of compose.yaml stand, by name."""
    pairs = (str(each).split(":")[:2] for each in SERVICE["volumes"])
    return {name: place for name, place in pairs}


def test_r45_the_volume_is_where_the_store_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the program takes it from the environment of the image (mem0ai/mem0 #2895, #6075)."""
    for name in [each for each in os.environ if each.startswith("MEMSTRATA_")]:
        monkeypatch.delenv(name)
    for name, value in IMAGE.environment.items():
        monkeypatch.setenv(name, value)
    assert SERVICE.get("environment") is None, "it would change where the store is"
    url = load_settings().url
    assert str(PurePosixPath(url).parent) == mounted()["data"]
    assert {*IMAGE.volumes} == {*mounted().values()} and {*VOLUMES} == {*mounted()}
    assert IMAGE.environment["XDG_CONFIG_HOME"] == mounted()["config"] != mounted()["data"]


def test_r45_it_listens_for_its_own_machine_alone() -> None:
    [port] = SERVICE["ports"]
    address, outside, inside = str(port).split(":")
    assert address == "127.0.0.1" and outside == inside == IMAGE.ports[0]
    assert IMAGE.command[IMAGE.command.index("--port") + 1] == inside


def test_it_may_do_little() -> None:
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", IMAGE.user), (
        "a number, so that none is looked up"
    )
    assert SERVICE["user"] == IMAGE.user
    assert SERVICE["read_only"] is True and SERVICE["init"] is True
    assert SERVICE["cap_drop"] == ["ALL"] and "cap_add" not in SERVICE
    assert SERVICE["security_opt"] == ["no-new-privileges:true"]
    assert [str(each).split(":")[0] for each in SERVICE["tmpfs"]] == ["/tmp"]
    assert SERVICE["restart"] == "unless-stopped" and SERVICE["stop_grace_period"]
    assert not {"privileged", "network_mode", "pid", "devices"} & {*SERVICE}


def test_the_image_has_what_the_program_needs_and_no_more() -> None:
    """Nothing that is copied into it is kept from it, and neither a store nor a key can be."""
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    wanted = {line[1:] for line in rules if line.startswith("!")}
    assert wanted == {*IMAGE.copied}
    assert [name for name in wanted if not (ROOT / name).exists()] == []
    source = {str(each.relative_to(ROOT)) for each in (ROOT / "src").rglob("*") if each.is_file()}
    excluded = [rule.removeprefix("**/") for rule in rules if rule.startswith("**/")]
    kept = [
        each
        for each in source
        if not any(fnmatch(p, r) for p in Path(each).parts for r in excluded)
    ]
    assert kept and all("__pycache__" not in each for each in kept)
    assert not any("pip" in run or "apt" in run for run in IMAGE.runs), "no tools in the last stage"


def test_both_files_check_the_health_alike() -> None:
    assert SERVICE["healthcheck"]["test"] == ["CMD", *IMAGE.healthcheck]
    compile(IMAGE.healthcheck[-1], "HEALTHCHECK", "exec")


def commands() -> dict[str, Any]:
    return typer.main.get_command(app).commands  # type: ignore[attr-defined]


def test_what_it_runs_is_a_command_of_ours() -> None:
    program, name, *arguments = IMAGE.command
    assert program == "memstrata"
    with commands()[name].make_context(name, [*arguments]) as context:
        assert (context.params["host"], str(context.params["port"])) == ("0.0.0.0", IMAGE.ports[0])


@pytest.fixture
def inside(tmp_path: Path) -> Callable[..., Ran]:
    """Runs commands in a container with a data and a config volume; each call is a new one."""
    if (reason := why_not()) is not None:
        if os.environ.get("MEMSTRATA_TEST_CONTAINER"):
            pytest.fail(reason)
        pytest.skip(reason)
    owner, _, group = IMAGE.user.partition(":")
    for name in mounted():
        volume = tmp_path / name
        volume.mkdir(mode=0o700)
        os.chown(volume, int(owner), int(group))
    volumes = {tmp_path / name: place for name, place in mounted().items()}

    def run(*command: str, **changed: str) -> Ran:
        return run_inside(tmp_path, volumes, {**IMAGE.environment, **changed}, *command)

    return run


def test_r45_down_and_up_and_it_is_there(inside: Callable[..., Ran], tmp_path: Path) -> None:
    """In containers one after the other, which keep nothing but their volumes."""
    owner = int(IMAGE.user.partition(":")[0])
    made = inside("memstrata", "keys", "create", "first")
    assert made.code == 0, made.err
    said = ("memstrata", "add", "The spare key is under the blue pot.", "--user", "ana")
    added = inside(*said)
    assert added.code == 0, added.err
    sealed = inside("sh", "-c", "printf Plum-7719 | memstrata vault put Wi-Fi --stdin --user ana")
    assert sealed.code == 0, sealed.err

    found = inside("memstrata", "search", "where is the spare key?", "--user", "ana", "--json")
    assert found.code == 0, found.err
    assert "under the blue pot" in found.out
    kept = inside("memstrata", "keys", "list")
    assert "first" in kept.out
    assert [each.name for each in (tmp_path / "data").iterdir()] == ["memstrata.db"]
    assert {each.name for each in (tmp_path / "config" / "memstrata").iterdir()} >= {"vault.key"}
    files = [each for name in mounted() for each in (tmp_path / name).rglob("*") if each.is_file()]
    assert {each.stat().st_uid for each in files} == {owner}
    assert not any(
        stat.S_IMODE(each.stat().st_mode) & 0o077 for each in files if "key" in each.name
    )
    assert {ran.left_in_tmp for ran in (made, added, sealed, found, kept)} == {""}


def test_it_is_served_healthy_and_ends_when_asked(
    inside: Callable[..., Ran], tmp_path: Path
) -> None:
    """What the image runs, by the health check of the image; not without keys."""
    refused = inside(*IMAGE.command)
    assert refused.code == 1 and "keys create" in refused.err
    made = inside("memstrata", "keys", "create", "first", "--json")
    key = json.loads(made.out)["secret"]
    given = (key, json.dumps(IMAGE.command), json.dumps(IMAGE.healthcheck))
    for _ in range(2):  # down, and up again
        served = inside("python", "-c", SERVING, *given)
        assert served.code == 0, served.err
        healthy, said, (status, found), ended, sick = json.loads(served.out.splitlines()[-1])
        assert (healthy, said, status, ended) == (0, 200, 200, 0), served.err
        assert sick != 0, "the health check is well without a service"
        assert "under the blue pot" in found
        assert "blue pot" not in served.err and key not in served.err
        assert served.left_in_tmp == ""
    assert [each.name for each in (tmp_path / "data").iterdir()] == ["memstrata.db"]


def test_a_backup_leaves_the_container_and_comes_back(
    inside: Callable[..., Ran], tmp_path: Path
) -> None:
    """As docs/deploy.md has it: written on the volume, restored beside, verified."""
    assert inside("memstrata", "add", "Plums are ripe.", "--user", "ana").code == 0
    made = inside("memstrata", "backup", "/data/backup.db")
    assert made.code == 0, made.err
    (tmp_path / "data" / "memstrata.db").unlink()
    back = inside("memstrata", "restore", "/data/backup.db")
    assert back.code == 0, back.err
    assert inside("memstrata", "verify").out == "the store is sound\n"
    assert "Plums" in inside("memstrata", "messages", "--user", "ana").out


def test_a_store_beside_the_volume_cannot_be_lost_for_it_cannot_be_made(
    inside: Callable[..., Ran], tmp_path: Path
) -> None:
    """A wrong path is an error at once, and not a store that is gone with the container."""
    lost = inside("memstrata", "add", "x", "--user", "ana", MEMSTRATA_URL="/opt/memstrata.db")
    assert lost.code != 0 and "error: " in lost.err
    assert inside("memstrata", "add", "The plums are ripe.", "--user", "ana").code == 0
    lost = inside("memstrata", "backup", "/backup.db")
    assert lost.code == 1 and "/backup.db cannot be written: Read-only" in lost.err
    assert [each.name for each in (tmp_path / "data").iterdir()] == ["memstrata.db"]
