"""Kill -9 at named failpoints and at random moments, over and over, several processes on one file.

    python -m faults.chaos ROUNDS [--seed N] [--keep FOLDER]

In each round up to three processes open the same store and do deeds (`faults.deeds`); each
survives, or dies at a failpoint (`faults.failpoints`) or when it has said so many lines. Then one
opens the store again and looks (`faults.aftermath`). Every tenth round kills upgrades of the
schema instead. A violation is told with its seed, round and failpoints, and the store is kept.
The seed decides who does what and dies where; how processes interleave is the machine's affair.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import json
import os
import random
import selectors
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from faults.aftermath import problems
from faults.deeds import DEEDS, UNEARTHED, Deeds, Ledger
from faults.failpoints import FILE, MIGRATION, WRITING, Failpoints, Fate
from faults.vfs import WRITES, FaultyDisk

import memstrata
from memstrata.models.fake import FakeEmbedder
from memstrata.store.sqlite import schema
from memstrata.text.analyse import pack_terms
from memstrata.text.names import names

__all__ = ["Chaos", "main"]

ROUNDS_PER_FILE = 12
LATER_STEPS = {
    1: "ALTER TABLE messages ADD COLUMN mood TEXT; CREATE TABLE moods (mood TEXT) STRICT",
    2: "UPDATE messages SET mood = 'fine'; INSERT INTO moods SELECT mood FROM messages",
    3: "CREATE INDEX moods_mood ON moods (mood)",
}
"""Upgrades to come, for rounds that kill them: one adds, one rewrites every row, one indexes."""
COMPLETE = 400
"""From so many rounds on every writing statement must have been died at."""
ONCE = ("model_add", "model_use", "vault_add")
"""Statements that are run once in the life of a file."""
UNMET = {
    "batch_request": "needs a second erasure while the first is being made good",
    "entity_name_drop": "needs one spelling of a name to be erased and another to stay",
    "entity_name_full": "needs a full name to be erased and the given name to stay",
    "vault_replace": "needs a key that was lost",
}
"""Statements that chance seldom or never brings about, and why."""
PATIENCE = 120.0
"""Seconds for a round; a process that takes longer hangs."""
_PRELOADED = ("memstrata.", "anyio.", "asyncio.", "cryptography.", "filelock.")
PLAIN = "PLACE-OF-IT"
"""What stands in a dump where the secret will."""
Line = dict[str, Any]


@dataclass
class _Process:
    """One that was forked, and what it has said."""

    pid: int
    source: int
    fate: Fate
    lines: list[Line] = field(default_factory=list[Line])
    unread: bytes = b""


def _say(sink: int, say: str, /, **what: Any) -> None:
    data = json.dumps({"say": say, **what}, ensure_ascii=False).encode() + b"\n"
    while data:
        data = data[os.write(sink, data) :]


class Chaos:
    """Rounds of it on stores in one folder."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.seed = seed
        self.killed: Counter[str] = Counter()
        """How often a process died at a failpoint, or outside of one."""
        self.survived = 0
        self.outrun = 0
        self.used: dict[str, set[str]] = {}
        """Statement → the deeds that have run it."""
        self.aimed: Counter[str] = Counter()
        self._number = -1
        self._ledger = Ledger()
        self.path = folder / "none.db"
        (folder / "keys").mkdir()
        # Once, not in every fork; no thread of ours may run when a process is forked.
        for text in ("Mara Lind moved to Faro.", "我叫王小明，我住在上海。"):
            pack_terms(text)
            names(text, set())
        _, told = _in_child(lambda sink: _make_dumps(folder, self.key, sink))
        for module in told["modules"]:
            importlib.import_module(module)

    @property
    def key(self) -> str:
        return f"file:{self.folder / 'keys' / 'vault.key'}"

    def round(self) -> list[str]:
        """One round; what it violated, in words."""
        self._number += 1
        if self._number % ROUNDS_PER_FILE == 0:
            self.path, self._ledger = self.folder / f"{self._number}.db", Ledger()
        draw = random.Random(f"{self.seed}/{self._number}")
        if self._number % 10 == 9:
            return self._migrations(draw)
        fates = [self._fate(draw) for _ in range(draw.choice((1, 2, 2, 3)))]
        processes = [self._start(slot, fate, draw) for slot, fate in enumerate(fates)]
        errors = self._listen(processes)
        self._count(processes)
        for process in processes:
            for line in process.lines:
                self._ledger.hear(line)
        found, state = _in_child(lambda sink: self._look(sink))
        for name in ("facts", "secrets"):
            for one, value in state.get(name, {}).items():
                getattr(self._ledger, name)[one] = {
                    tuple(v) if name == "facts" else v for v in value
                }
        return [
            f"{problem} [seed {self.seed}, round {self._number}: {'; '.join(map(str, fates))}]"
            for problem in [*errors, *found]
        ]

    def keep(self, folder: Path) -> None:
        """Copy the store and what belongs to it."""
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copytree(self.folder / "keys", folder / "keys", dirs_exist_ok=True)
        for file in self.folder.glob(f"{self.path.name}*"):
            shutil.copy(file, folder)

    # ── who dies where ───────────────────────────────────────────────────────────────────────

    def _fate(self, draw: random.Random) -> Fate:
        kind = draw.choices(("statement", "commit", "disk", "file", "outside", "none"),
                            (45, 10, 15, 8, 12, 10))[0]  # fmt: skip
        side = draw.choice(("before", "after"))
        if kind == "statement":
            known = [name for name in WRITING if name in self.used] or WRITING
            if not self.path.exists() and draw.random() < 0.7:
                known = list(ONCE)
            died = {
                name: self.killed[f"before {name}"] + self.killed[f"after {name}"] for name in known
            }
            name = min(known, key=lambda name: (died[name], self.aimed[name], draw.random()))
            self.aimed[name] += 1
            return Fate(f"{side} {name}", passing=draw.choice((0, 0, 0, 0, 1, 4)))
        if kind == "commit":
            fresh = not self.path.exists() and draw.random() < 0.6
            where = draw.choice(MIGRATION) if fresh else "COMMIT"
            return Fate(f"{side} {where}", passing=0 if fresh else draw.randrange(40))
        if kind == "disk":
            most = {"write": 300, "sync": 60, "truncate": 6}
            name = draw.choice(WRITES)
            return Fate(f"disk {name}", passing=draw.randrange(most[name]))
        if kind == "file":
            return Fate(f"{side} {draw.choice(FILE)}", passing=draw.choice((0, 0, 1)))
        return Fate(lines=draw.randrange(1, 30)) if kind == "outside" else Fate()

    def _plan(self, fate: Fate, draw: random.Random) -> list[str]:
        """The deeds of a process; first those by which it is known to come to its failpoint."""
        deeds = draw.choices(DEEDS, k=draw.randrange(2, 6))
        target = fate.failpoint.partition(" ")[2]
        if target in FILE or target == "vault_add":
            deeds[:0] = ["seal", "rekey"]
        elif known := self.used.get(target):
            deeds[:0] = [draw.choice(sorted(known))] * 2
        return deeds

    # ── processes ────────────────────────────────────────────────────────────────────────────

    def _start(self, slot: int, fate: Fate, draw: random.Random) -> _Process:
        deeds = self._plan(fate, draw)
        seed = draw.random()

        def work(sink: int) -> None:
            points = Failpoints(fate, lambda where: _say(sink, "at", failpoint=where))
            disk = FaultyDisk("mortal")
            points.install(disk)
            with self._open(disk.name) as memory:
                name = f"{self._number}z{slot}z"
                say = functools.partial(_say, sink)
                mine = random.Random(seed)
                dumps = self.folder / "dumps"
                deeds_of = Deeds(memory, name, slot, self._ledger, say, mine, dumps)
                for deed in deeds:
                    deeds_of.do(deed)
                    say("ran", deed=deed, statements=sorted(points.passed.intersection(WRITING)))
                    points.passed.clear()

        return _fork(work, fate)

    def _open(self, vfs: str | None = None) -> memstrata.Memory:
        embedder = FakeEmbedder(dimensions=32)
        return memstrata.open(self.path, embedder=embedder, vfs=vfs, vault_key=self.key)

    def _look(self, sink: int) -> None:
        with self._open() as memory:
            for problem in problems(memory, self.path, self._ledger):
                _say(sink, "violation", what=problem)
        state = {
            name: {one: sorted(value) for one, value in getattr(self._ledger, name).items()}
            for name in ("facts", "secrets")
        }
        _say(sink, "state", **state)

    def _listen(self, processes: list[_Process]) -> list[str]:
        """Hear all of them out, killing those whose time has come; what went wrong."""
        errors: list[str] = []
        deadline = time.monotonic() + PATIENCE
        with selectors.DefaultSelector() as ready:
            for process in processes:
                ready.register(process.source, selectors.EVENT_READ, process)
            while ready.get_map() and time.monotonic() < deadline:
                for key, _ in ready.select(timeout=1):
                    if not _read(key.data):
                        ready.unregister(key.fileobj)
                        errors += _ended(key.data)
            for key in list(ready.get_map().values()):
                errors.append(f"a process hung for {PATIENCE:.0f} s: {key.data.lines[-1:]}")
                os.kill(key.data.pid, signal.SIGKILL)
                errors += _ended(key.data)
        return errors

    def _count(self, processes: list[_Process]) -> None:
        for process in processes:
            ends = [line["failpoint"] for line in process.lines if line["say"] == "at"]
            whole = any(line["say"] == "end" for line in process.lines)
            where = ends[0] if ends else "outside" if not whole else ""
            self.killed.update([where] if where else [])
            self.survived += not where
            for line in process.lines:
                self.outrun += line["say"] == "outrun"
                for name in line["statements"] if line["say"] == "ran" else ():
                    self.used.setdefault(name, set()).add(line["deed"])

    # ── upgrades ─────────────────────────────────────────────────────────────────────────────

    def _migrations(self, draw: random.Random) -> list[str]:
        """Kill upgrades of a copy of the store, or of one that is not there yet."""
        real, known = self.path, dict(schema.migrations())
        copy = self.folder / "upgraded.db"
        for old in self.folder.glob("upgraded.db*"):
            old.unlink()
        if real.exists() and draw.random() < 0.7:
            for suffix in ("", "-wal"):
                if Path(f"{real}{suffix}").exists():
                    shutil.copy(f"{real}{suffix}", f"{copy}{suffix}")
        latest = schema.latest_version()
        steps = {**known, **{latest + n: sql for n, sql in LATER_STEPS.items()}}
        fates = [
            draw.choice(
                (
                    Fate(
                        f"{draw.choice(('before', 'after'))} {draw.choice(MIGRATION)}",
                        passing=draw.randrange(3),
                    ),
                    Fate(f"disk {draw.choice(WRITES[::2])}", passing=draw.randrange(30)),
                    Fate(),
                )
            )
            for _ in range(3)
        ]
        schema.migrations, self.path = lambda: steps, copy
        try:
            processes = [_fork(self._upgrade(fate), fate) for fate in fates]
            found = self._listen(processes)
            self._count(processes)
            wrong, _ = _in_child(lambda sink: self._look_upgraded(sink, latest + len(LATER_STEPS)))
        finally:
            schema.migrations, self.path = lambda: known, real
        told = "; ".join(map(str, fates))
        return [
            f"{problem} [seed {self.seed}, round {self._number}, an upgrade: {told}]"
            for problem in [*found, *wrong]
        ]

    def _upgrade(self, fate: Fate) -> Callable[[int], None]:
        def work(sink: int) -> None:
            disk = FaultyDisk("mortal")
            Failpoints(fate, lambda where: _say(sink, "at", failpoint=where)).install(disk)
            self._open(disk.name).close()

        return work

    def _look_upgraded(self, sink: int, version: int) -> None:
        with self._open() as memory:
            backend: Any = memory.aio._runtime.store._backend
            [(found,)] = backend._writer.execute("PRAGMA user_version").fetchall()
            [(mood, moods)] = backend._writer.execute(
                "SELECT (SELECT count(*) FROM messages), (SELECT count(*) FROM moods)"
            ).fetchall()
            if found != version or mood != moods:
                _say(sink, "violation", what=f"a step is half taken: {found}, {mood}, {moods}")
            for problem in memory.verify():
                _say(sink, "violation", what=f"unsound when upgraded: {problem}")
        _say(sink, "state")

    # ── what it was worth ────────────────────────────────────────────────────────────────────

    def never(self) -> list[str]:
        """The writing statements at which no process has died."""
        hit = {name.partition(" ")[2] for name in self.killed}
        return [name for name in WRITING if name not in hit]

    def summary(self) -> Iterator[str]:
        """What was hit, in a few lines."""
        statements = len(WRITING) - len(self.never())
        yield (
            f"{self._number + 1} rounds, seed {self.seed}: {self.killed.total()} processes killed "
            f"({self.killed['outside']} from outside), {self.survived} survived; "
            f"{statements} of {len(WRITING)} writing statements were died at"
        )
        others = {k: n for k, n in self.killed.items() if k.partition(" ")[2] not in WRITING}
        yield f"other failpoints: {', '.join(f'{k} {n}' for k, n in sorted(others.items()))}"
        ran = [name for name in self.never() if name in self.used]
        yield f"run and never died at: {', '.join(ran) or 'none'}"
        for name in self.never():
            if name not in self.used:
                yield f"never run: {name}, which {UNMET.get(name, 'is not explained')}"


def _fork(work: Callable[[int], None], fate: Fate) -> _Process:
    source, sink = os.pipe()
    pid = os.fork()
    if pid:
        os.close(sink)
        return _Process(pid, source, fate)
    os.close(source)
    _be(work, sink)


def _be(work: Callable[[int], None], sink: int) -> NoReturn:
    """What a forked process does; it never returns to the caller's code."""
    with contextlib.ExitStack() as last:
        last.callback(os._exit, 0)
        last.push(functools.partial(_tell_end, sink))
        work(sink)
    raise AssertionError("it has ended")


def _tell_end(sink: int, kind: object, error: BaseException | None, trace: object) -> bool:
    if error is None:
        _say(sink, "end")
    else:
        _say(sink, "broke", why="".join(traceback.format_exception(error)))
    return True


def _read(process: _Process) -> bool:
    """Hear what it has to say now; False at its end."""
    data = os.read(process.source, 1 << 16)
    *whole, process.unread = (process.unread + data).split(b"\n")
    process.lines += [json.loads(line) for line in whole]
    if process.fate.lines and len(process.lines) >= process.fate.lines:
        os.kill(process.pid, signal.SIGKILL)
    return bool(data)


def _ended(process: _Process) -> list[str]:
    """Take leave of it at once, so that others know it is gone; what went wrong."""
    while _read(process):
        pass
    os.close(process.source)
    _, status = os.waitpid(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    errors = [str(line["why"]) for line in process.lines if line["say"] == "broke"]
    return errors if code in (0, -signal.SIGKILL) else [*errors, f"a process ended with {code}"]


def _in_child(work: Callable[[int], None]) -> tuple[list[str], Line]:
    """Do something with a store in a process of its own; the violations and the state it tells."""
    process = _fork(work, Fate())
    while _read(process):
        pass
    os.close(process.source)
    os.waitpid(process.pid, 0)
    found = [str(line.get("what") or line.get("why")) for line in process.lines
             if line["say"] in ("violation", "broke")]  # fmt: skip
    states = [line for line in process.lines if line["say"] == "state"]
    return found, states[-1] if states else {}


def _make_dumps(folder: Path, key: str, sink: int) -> None:
    """Dumps alike but for whose they are; those of `olga` hold secrets in plain text."""
    (folder / "dumps").mkdir()
    with memstrata.open(folder / "source.db", embedder="none", vault_key=key) as memory:
        for number in range(6):
            said = f"I live in {('Faro', 'Turku')[number % 2]}. Crate {number}"
            memory.add([said, f"basket {number} of Mara Lind"], user_id="cleo", session_id="s")
        gone = memory.add("I own a kayak.", user_id="cleo").message_ids
        memory.forget(ids=gone, user_id="cleo")
        memory.vault.put("quince-40", caption="Garden gate", user_id="cleo")
        [source] = memory.add(f"Keep this: the token is {PLAIN}", user_id="olga").message_ids
        fact = {"kind": "semantic", "name": f"The token is {PLAIN}"}
        evidence = [{"source_id": source, "quote": f"the token is {PLAIN}"}]
        reason = f"the token is {PLAIN}"
        memory.create({**fact, "evidence": evidence}, user_id="olga", reason=reason)
        for user in ("cleo", "olga"):
            memory.dump(folder / f"{user}.jsonl", user_id=user)
            text = (folder / f"{user}.jsonl").read_text("utf-8").replace(PLAIN, UNEARTHED)
            for number in range(12):
                changed = text.replace(f'"user_id":"{user}"', f'"user_id":"{user}{number}"')
                (folder / "dumps" / f"{user}{number}.jsonl").write_text(changed, "utf-8")
    _say(sink, "state", modules=[name for name in sys.modules if name.startswith(_PRELOADED)])


def main(arguments: list[str]) -> int:
    """Rounds from the command line; 1 if anything was violated."""
    parser = argparse.ArgumentParser(prog="python -m faults.chaos")
    parser.add_argument("rounds", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("chaos"))
    given = parser.parse_args(arguments)
    violations = 0
    kept: set[Path] = set()
    memory = Path("/dev/shm")  # a kill loses nothing of what a file system holds, and it is fast
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        chaos = Chaos(Path(folder), given.seed)
        for number in range(given.rounds):
            found = chaos.round()
            for problem in found:
                sys.stdout.write(f"VIOLATION {problem}\n")
            if found and chaos.path not in kept:
                kept.add(chaos.path)
                chaos.keep(given.keep / str(number))
                sys.stdout.write(f"{chaos.path.name} is kept in {given.keep / str(number)}\n")
            violations += len(found)
            if number % 50 == 49:
                sys.stdout.write(f"{number + 1} rounds, {violations} violations\n")
            sys.stdout.flush()
        sys.stdout.write("".join(f"{line}\n" for line in chaos.summary()))
        sys.stdout.write(f"{violations} violations\n")
        missed = set(chaos.never()) - set(UNMET) if given.rounds >= COMPLETE else set[str]()
        if missed:
            sys.stdout.write(f"INCOMPLETE: nobody died at {', '.join(sorted(missed))}\n")
    return int(violations > 0 or bool(missed))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
