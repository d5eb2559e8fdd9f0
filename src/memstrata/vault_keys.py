"""The vault's keys: where they are kept, and sealing with them (AES-256-GCM, NIST SP 800-38D).

A key is told apart by a short hash of it. A place may hold several: the first one seals, the
others still open what was sealed with them. Nothing here touches the store.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import hmac
import importlib
import json
import os
import stat
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import platformdirs
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from filelock import FileLock, Timeout

from memstrata.errors import VaultUnavailable
from memstrata.records import Scope

__all__ = ["MARKS", "Key", "Keys", "Sealed", "bound_to", "mark_of", "open_keys"]

_BYTES = 32
_NONCE = 12
_PATIENCE = 10.0  # seconds
_SERVICE, _ENTRY = "memstrata", "vault keys"
_HEAD = "# Keys of memstrata's vault. Without them what it sealed cannot be read: keep a copy.\n"


MARKS = b"memstrata vault: the key of the marks"
"""What the store's own key, by which secrets are known again, is sealed to."""


class Key(NamedTuple):
    """An AES-256 key and the short name it is known by."""

    id: str
    raw: bytes


class Sealed(NamedTuple):
    """Nonce, ciphertext and tag, and which key it takes to open them."""

    key_id: str
    blob: bytes


def _key(raw: bytes) -> Key:
    return Key(hashlib.blake2b(raw, digest_size=6, person=b"memstrata key").hexdigest(), raw)


def _parse(text: str, where: str) -> list[Key]:
    """Keys written in base64 or hexadecimal, set apart by commas or lines."""
    keys: list[Key] = []
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for written in ",".join(lines).split(","):
        if word := written.strip():
            raw = _decoded(word)
            if len(raw) != _BYTES:
                raise VaultUnavailable(
                    f"{where} is no key of the vault: a key is {_BYTES} random bytes in base64 or "
                    "hexadecimal, such as `openssl rand -hex 32` prints; a key file is named as "
                    "file:PATH"
                )
            keys.append(_key(raw))
    return keys


def _decoded(word: str) -> bytes:
    with contextlib.suppress(ValueError):
        if len(word) == 2 * _BYTES:
            return bytes.fromhex(word)
    try:
        return base64.b64decode(word.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _written(keys: Sequence[Key]) -> str:
    return _HEAD + "".join(base64.b64encode(key.raw).decode() + "\n" for key in keys)


class _Place(Protocol):
    """Where keys are kept."""

    @property
    def name(self) -> str:
        """In words, for errors."""
        ...

    def read(self) -> list[Key]:
        """The keys, the one to seal with first; none if there is none yet."""
        ...

    def write(self, keys: Sequence[Key]) -> None:
        """Keep these keys, durably; the ones there before are among them."""
        ...

    def lock(self) -> contextlib.AbstractContextManager[object]:
        """While held, no other process adds a key."""
        ...


class _InEnvironment:
    name = "the setting vault_key (MEMSTRATA_VAULT_KEY)"

    def __init__(self, text: str) -> None:
        self._text = text

    def read(self) -> list[Key]:
        return _parse(self._text, self.name)

    def lock(self) -> contextlib.AbstractContextManager[object]:
        return contextlib.nullcontext()

    def write(self, keys: Sequence[Key]) -> None:
        raise VaultUnavailable(
            f"{self.name} is set by whoever starts the program: put the new key in front of the "
            "old one there (new,old), start again, and repeat"
        )


class _InFile:
    """A file that only its owner may read, made on first need."""

    def __init__(self, path: Path, *, ours: bool = False) -> None:
        self._path = path
        self._ours = ours
        self.name = f"the key file {path}"

    def read(self) -> list[Key]:
        try:
            with self._path.open(encoding="ascii") as file:
                mode = os.fstat(file.fileno()).st_mode
                text = file.read()
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise VaultUnavailable(f"{self.name} cannot be read: {error}") from error
        if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
            raise VaultUnavailable(
                f"{self.name} can be read by others than its owner: chmod 600 it, and think of "
                "rotating the key (`memstrata vault rotate-key`)"
            )
        keys = _parse(text, self.name)
        if not keys:
            raise VaultUnavailable(f"{self.name} is empty: put the key back from a copy")
        return keys

    def lock(self) -> contextlib.AbstractContextManager[object]:
        return _lock(self._path, ours=self._ours)

    def write(self, keys: Sequence[Key]) -> None:
        fresh = self._path.with_name(f"{self._path.name}.new")
        try:
            fresh.unlink(missing_ok=True)  # a process was killed before it was put in place
            handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(_written(keys))
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self._path)
            if os.name == "posix":
                folder = os.open(self._path.parent, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
        except OSError as error:
            raise VaultUnavailable(f"{self.name} cannot be written: {error}") from error


@contextlib.contextmanager
def _lock(path: Path, *, ours: bool) -> Generator[None]:
    """Keep other processes from writing the keys at this path; a killed one keeps nobody out.

    The configuration folder is ours to create; any other folder is the caller's.
    """
    try:
        if ours:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        elif not path.parent.is_dir():
            raise VaultUnavailable(f"there is no folder {path.parent}: create it first")
        with FileLock(f"{path}.lock", timeout=_PATIENCE, mode=0o600):
            yield
    except (OSError, Timeout) as error:
        raise VaultUnavailable(f"the keys in {path.parent} cannot be written: {error}") from error


def _folder() -> Path:
    return Path(platformdirs.user_config_dir("memstrata"))


class _InKeyring:
    """The operating system's keyring, through the `keyring` package."""

    name = "the keyring of the operating system"

    def __init__(self) -> None:
        try:
            self._keyring: Any = importlib.import_module("keyring")
            self._errors: Any = importlib.import_module("keyring.errors")
        except ImportError as error:
            raise VaultUnavailable(
                "keys in the keyring need the package `keyring`: pip install 'memstrata[keyring]'"
            ) from error

    def read(self) -> list[Key]:
        try:
            text = self._keyring.get_password(_SERVICE, _ENTRY)
        except self._errors.KeyringError as error:
            raise VaultUnavailable(f"{self.name} cannot be read: {error}") from error
        return _parse(text, self.name) if text else []

    def lock(self) -> contextlib.AbstractContextManager[object]:
        return _lock(_folder() / "keyring", ours=True)

    def write(self, keys: Sequence[Key]) -> None:
        try:
            self._keyring.set_password(_SERVICE, _ENTRY, _written(keys))
        except self._errors.KeyringError as error:
            raise VaultUnavailable(f"{self.name} cannot be written: {error}") from error


class _Nowhere:
    name = "nowhere"

    def read(self) -> list[Key]:
        raise VaultUnavailable(
            "the vault is off (vault_key is `none`): nothing can be sealed or opened; leave the "
            "setting out to have a key file made"
        )

    def lock(self) -> contextlib.AbstractContextManager[object]:
        return contextlib.nullcontext()

    def write(self, keys: Sequence[Key]) -> None:
        self.read()


class Keys:
    """The keys at one place; read when first needed, and again when one is missing."""

    def __init__(self, place: _Place) -> None:
        self._place = place
        self._known: list[Key] = []

    @property
    def name(self) -> str:
        """Where they are, in words."""
        return self._place.name

    def current(self) -> Key | None:
        """The key to seal with; None where there is none yet."""
        if not self._known:
            self._known = self._place.read()
        return self._known[0] if self._known else None

    def new(self, *, first: bool = False) -> Key:
        """Make a key, and seal with it from now on; as the `first` one only if there is none."""
        with self._place.lock():
            known = self._place.read()
            if not (first and known):
                self._place.write([_key(os.urandom(_BYTES)), *known])
            self._known = self._place.read()
        return self._known[0]

    def reload(self) -> None:
        """Read the keys again when they are next needed."""
        self._known = []

    def find(self, key_id: str) -> Key:
        """The key of this name; `VaultUnavailable` says where it should be."""
        for again in (False, True):
            if again or not self._known:
                self._known = self._place.read()
            for key in self._known:
                if key.id == key_id:
                    return key
        raise VaultUnavailable(
            f"this was sealed with key {key_id}, which is not in {self.name}: nothing is lost; put "
            "that key back, or set MEMSTRATA_VAULT_KEY to it"
        )

    def seal(self, plain: bytes, to: bytes) -> Sealed:
        """Seal with the current key what may only be opened for `to`."""
        key = self.current()
        if key is None:
            raise VaultUnavailable(f"there is no key in {self.name} yet")
        nonce = os.urandom(_NONCE)
        return Sealed(key.id, nonce + AESGCM(key.raw).encrypt(nonce, plain, to))

    def open(self, sealed: Sealed, to: bytes) -> bytes:
        """What was sealed; `VaultUnavailable` if the key, the bytes or `to` are not the same."""
        key = self.find(sealed.key_id)
        nonce, rest = sealed.blob[:_NONCE], sealed.blob[_NONCE:]
        try:
            return AESGCM(key.raw).decrypt(nonce, rest, to)
        except (InvalidTag, ValueError) as error:
            raise VaultUnavailable(
                "what is stored is not what was sealed for this entry of this scope: it was "
                "changed or moved; restore it from a backup"
            ) from error


def bound_to(scope: Scope, record_id: str) -> bytes:
    """The associated data of a secret: whose it is and which, so that it opens nowhere else."""
    return json.dumps([scope.tenant, scope.user_id, scope.agent_id, record_id]).encode()


def mark_of(secret: str, scope: Scope, key: bytes) -> bytes:
    """A keyed hash by which a secret of a scope is known again (HMAC-SHA-256, 16 bytes)."""
    text = json.dumps([scope.tenant, scope.user_id, scope.agent_id, secret])
    return hmac.digest(key, text.encode(), "sha256")[:16]


def open_keys(setting: str | None) -> Keys:
    """The keys of a setting: `keyring`, `none`, `file:PATH`, keys themselves, or the default file.

    Nothing is read yet.
    """
    match setting:
        case None:
            return Keys(_InFile(_folder() / "vault.key", ours=True))
        case "none":
            return Keys(_Nowhere())
        case "keyring":
            return Keys(_InKeyring())
        case _ if setting.startswith("file:"):
            return Keys(_InFile(Path(setting.removeprefix("file:")).expanduser()))
        case _:
            return Keys(_InEnvironment(setting))
