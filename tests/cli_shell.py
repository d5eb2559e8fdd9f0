"""What the tests of the command line run commands with."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memstrata.cli import main

__all__ = ["RUN", "Done", "Shell", "lines"]

RUN = [sys.executable, "-c", "import sys; from memstrata.cli import main; sys.exit(main())"]


@dataclass
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Shell:
    """Runs commands in a folder of its own, for the user ana."""

    def __init__(self, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self.capsys, self.patch = capsys, patch

    @classmethod
    def fresh(
        cls, folder: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> Shell:
        """In that folder, with a store that is not there yet."""
        patch.chdir(folder)
        patch.setenv("MEMSTRATA_URL", "memory.db")
        patch.setenv("MEMSTRATA_USER", "ana")
        patch.setenv("MEMSTRATA_EMBEDDER", "fake")
        return cls(capsys, patch)

    def __call__(self, *arguments: str, given: str | bytes = b"") -> Done:
        data = given.encode() if isinstance(given, str) else given
        self.patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        self.capsys.readouterr()
        code = main(arguments)
        out, err = self.capsys.readouterr()
        assert "Traceback" not in err
        return Done(code, out, err)

    def ok(self, *arguments: str, given: str | bytes = b"") -> Done:
        done = self(*arguments, given=given)
        assert done.code == 0, done
        return done

    def texts(self) -> list[str]:
        return [each["content"] for each in self.ok("messages", "--json").json["items"]]


def lines(*values: object) -> str:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)
