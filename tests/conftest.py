"""What all tests share: one async backend, settings of their own, the development data."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import platformdirs
import pytest
from models import local_model

# A run started in the background ignores Ctrl-C, and so would the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


IN_CI = bool(os.environ.get("CI"))

# Kept from run to run, and so named before tests are given folders of their own.
MODELS = platformdirs.user_cache_path("memstrata") / "models"

# Machines are shared and slow at times: an example may take long, but never be skipped silently.
hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if IN_CI else "default")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def _no_settings_of_yours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nobody's configuration steers a test, and no test writes to anybody's default store."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("MEMSTRATA_") and name != "MEMSTRATA_DATA":
                patch.delenv(name)
        for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
            patch.setenv(name, str(home / name.lower()))
        yield


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The development data; without it the test is skipped, in CI it fails."""
    named = os.environ.get("MEMSTRATA_DATA")
    if named:
        folder = Path(named)
        if not folder.is_dir():
            pytest.fail(f"MEMSTRATA_DATA={named} is not a folder")
        return folder
    why = "needs real data: set MEMSTRATA_DATA to the folder that holds it"
    if IN_CI:
        pytest.fail(why)
    pytest.skip(why)


@pytest.fixture(scope="session")
def local_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of a real model; without one the test is skipped, in CI it fails."""
    if not local_model.installed():
        why = "needs a language model on this machine: run `make local-model`"
        if IN_CI:
            pytest.fail(why)
        pytest.skip(why)
    shared = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        shared = shared.parent
    with local_model.serving(shared, "--folder", str(MODELS)) as url:
        yield url
