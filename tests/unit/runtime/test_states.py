"""What people are told of the records of a job."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_rescaling import Run
from typer.testing import CliRunner

from seatunnel_py.cli.main import app
from seatunnel_py.runtime.resume.checkpoint_view import describe
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from tests.kit.runtime_toys import Target, ToySink, ToySource, straight


def test_records_say_where_each_split_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a driver that has ended early: rows, finished splits and positions add up; the command shows the same."""
    target, source = Target(), ToySource((295, 140))
    place = tmp_path / "jobs" / "toy"
    run = Run(straight("x", source, ToySink("out", target), 2), place)
    run.until_committed(target)
    run.driver.stop()
    run.thread.join(20)
    contents = CheckpointStore(LocalStorage(place / "checkpoints")).read()
    records = describe(contents.claims["x"], contents.records["x"])
    (vertex,) = records[-1]["vertices"]

    assert [record["checkpoint"] for record in records] == sorted(record["checkpoint"] for record in records)
    assert (vertex["vertex"], vertex["subtasks"], vertex["splits"]) == ("x", 2, 2)
    stands = sum(int(position["n"]) for position in vertex["at"].values())
    finished = {f"s{at}": rows for at, rows in enumerate(source.rows) if f"s{at}" not in vertex["at"]}
    assert vertex["rows_read"] == stands + (sum(finished.values()) if vertex["finished"] else 0)

    monkeypatch.setenv("SEATUNNEL_HOME", str(tmp_path))
    said = CliRunner().invoke(app, ["state", "show", "toy"])
    assert said.exit_code == 0, said.output
    assert f"x: {vertex['rows_read']} rows, {vertex['finished']} of 2 splits" in said.output
