"""The measurement of the service: small, with the real server and real clients."""

from __future__ import annotations

import io
import json
from pathlib import Path

from rich.console import Console

from memstrata.bench.service import Load, run_service


def test_every_part_is_measured(tmp_path: Path) -> None:
    out, shown = tmp_path / "service.json", io.StringIO()
    load = Load(clients=4, seconds=6.0, messages=50, queries=25)
    made = run_service(out, "fake", load=load, console=Console(file=shown, width=120))
    assert json.loads(out.read_text("utf-8")) == json.loads(json.dumps(made))
    assert set(made["overhead"]) == {"none", "fake"}
    for each in made["overhead"].values():
        assert each["in_process"]["p50"] > 0
        assert each["added_p50_ms"] < each["over_http"]["p50"]
    loaded, killed = made["under_load"], made["killed"]
    assert (loaded["errors"], loaded["lost"]) == ({}, 0)
    assert loaded["acknowledged"] > 0
    assert set(loaded["latencies"]) == {"add", "add_without_waiting", "search"}
    assert (killed["lost"], killed["problems"]) == (0, [])
    assert killed["acknowledged"] > 0
    assert "HTTP adds" in shown.getvalue()
