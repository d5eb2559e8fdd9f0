"""Keys of the vault: where they are kept, by whom they can be read, and several processes."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backend
import keyring.errors
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.errors import VaultUnavailable
from memstrata.records import Scope
from memstrata.vault_keys import Sealed, bound_to, mark_of, open_keys

HEX = "0f" * 32
BASE = base64.b64encode(bytes.fromhex(HEX)).decode()
ANA = Scope(user_id="ana")


class Ring(keyring.backend.KeyringBackend):
    """A keyring that forgets when the test ends."""

    priority = 1.0  # pyright: ignore[reportAssignmentType]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise keyring.errors.KeyringLocked("locked")
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.locked:
            raise keyring.errors.PasswordSetError("locked")
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.fixture
def ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ring]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    before = keyring.get_keyring()
    ours = Ring()
    keyring.set_keyring(ours)
    yield ours
    keyring.set_keyring(before)


@given(st.binary(max_size=200), st.binary(max_size=50))
def test_what_is_sealed_opens_for_what_it_was_sealed_to(plain: bytes, to: bytes) -> None:
    keys = open_keys(HEX)
    sealed = keys.seal(plain, to)
    assert keys.open(sealed, to) == plain
    assert plain not in sealed.blob or len(plain) < 3
    assert sealed.blob != keys.seal(plain, to).blob
    with pytest.raises(VaultUnavailable):
        keys.open(sealed, to + b"x")


@pytest.mark.parametrize("written", [HEX, HEX.upper(), BASE, f" {BASE} ", f"{HEX},{'1e' * 32}"])
def test_a_key_is_written_in_base64_or_hexadecimal(written: str) -> None:
    sealed = open_keys(HEX).seal(b"plum", b"")
    assert open_keys(written).open(sealed, b"") == b"plum"


def test_keys_of_urls_are_base64_too() -> None:
    raw = bytes(range(220, 252))
    plain = base64.b64encode(raw).decode()
    assert set("+/") & set(plain)
    sealed = open_keys(plain).seal(b"plum", b"")
    assert open_keys(base64.urlsafe_b64encode(raw).decode()).open(sealed, b"") == b"plum"


def test_ciphertext_opens_nowhere_else() -> None:
    places = [
        bound_to(Scope(tenant=tenant, user_id=user, agent_id=agent), record)
        for tenant in ("default", "north")
        for user, agent in (
            ("ana", None),
            (None, "ana"),
            ("ana", "b"),
            ("b", "ana"),
            ("anab", None),
        )
        for record in ("vault_1", "vault_2")
    ]
    assert len(set(places)) == len(places)


def test_a_mark_tells_nothing_without_the_key() -> None:
    marks = {
        mark_of(secret, scope, key)
        for secret in ("plum", "pear")
        for scope in (ANA, Scope(user_id="bob"), Scope(agent_id="ana"))
        for key in (b"one", b"two")
    }
    assert len(marks) == 12
    assert mark_of("plum", ANA, b"one") == mark_of("plum", ANA, b"one")


def test_keys_in_the_keyring_of_the_system(ring: Ring) -> None:
    keys = open_keys("keyring")
    assert keys.current() is None
    first = keys.new(first=True)
    sealed = keys.seal(b"plum", b"x")
    again = open_keys("keyring")
    assert again.new(first=True) == first
    second = again.new()
    assert second != first
    assert again.open(sealed, b"x") == b"plum"
    ring.locked = True
    for keys in (open_keys("keyring"), again):
        keys.reload()
        with pytest.raises(VaultUnavailable, match="keyring"):
            keys.current()
        with pytest.raises(VaultUnavailable, match="keyring"):
            keys.new()


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
def test_a_key_file_is_its_owners_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "deep" / "er"))
    path = tmp_path / "deep" / "er" / "memstrata" / "vault.key"
    open_keys(None).new(first=True)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    for mode in (0o640, 0o604, 0o644):
        path.chmod(mode)
        with pytest.raises(VaultUnavailable, match="chmod 600"):
            open_keys(f"file:{path}").current()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"# only words\n", "empty"),
        (b"plum\n", "32 random bytes"),
        (b"\xff", "read"),
    ],
)
def test_a_damaged_key_file_is_never_taken_for_none(
    tmp_path: Path, content: bytes, says: str
) -> None:
    path = tmp_path / "vault.key"
    path.write_bytes(content)
    path.chmod(0o600)
    for first in (True, False):
        with pytest.raises(VaultUnavailable, match=says) as caught:
            open_keys(f"file:{path}").new(first=first)
        assert "plum" not in str(caught.value)
    assert path.read_bytes() == content


def test_where_no_file_can_be_made_it_is_said(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(VaultUnavailable, match="there is no folder"):
        open_keys(f"file:{blocked}/vault.key").new(first=True)


def test_a_mistyped_folder_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(VaultUnavailable, match=r"there is no folder .*: create it first"):
        open_keys(f"file:{tmp_path}/mistyped/vault.key").new(first=True)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_rotation_left_is_in_nobodys_way(tmp_path: Path) -> None:
    path = tmp_path / "vault.key"
    keys = open_keys(f"file:{path}")
    keys.new(first=True)
    (tmp_path / "vault.key.new").write_text("half a ke")
    assert keys.new() == open_keys(f"file:{path}").current()
    assert not (tmp_path / "vault.key.new").exists()


def test_processes_that_make_the_first_key_at_once_make_one(tmp_path: Path) -> None:
    path = tmp_path / "vault.key"
    program = (
        "import sys\nfrom memstrata.vault_keys import open_keys\n"
        "keys = open_keys('file:' + sys.argv[1])\nsys.stdin.readline()\n"
        "print(keys.new(first=True).id, *(keys.new().id for _ in range(5)))"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    made = [process.communicate(timeout=60)[0].split() for process in started]
    keys = open_keys(f"file:{path}")
    for ids in made:
        for key_id in ids:
            assert keys.find(key_id).id == key_id, "a key was lost"
    assert len(path.read_text().splitlines()) == 1 + 1 + 4 * 5


def test_a_missing_key_is_named() -> None:
    sealed = open_keys(HEX).seal(b"plum", b"")
    with pytest.raises(VaultUnavailable, match=sealed.key_id):
        open_keys("1e" * 32).open(sealed, b"")
    with pytest.raises(VaultUnavailable, match="off"):
        open_keys("none").open(Sealed("a", b""), b"")
