"""A job that goes on from an older checkpoint: what follows is known before, and is what happens."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_rescaling import Run, rows_of
from typer.testing import CliRunner

from seatunnel_py.cli.main import app
from seatunnel_py.protocol.commit.claims import on_chain
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.resume.checkpoint_view import difference, select
from seatunnel_py.runtime.resume.job_claim import read_valid
from seatunnel_py.runtime.resume.rollback import preview, rewind
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore, StoreContents
from seatunnel_py.runtime.storage.journal import JournalFile, void_line
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from tests.kit.runtime_toys import Target, ToySink, ToySource, forked, straight


class Stopped:
    """A job whose driver has died behind several checkpoints."""

    def __init__(self, home: Path, shape: Any = straight) -> None:
        self.place = home / "jobs" / "toy"
        self.target, self.source, self.shape = Target(), ToySource((400, 300)), shape
        self.run = Run(self.pipeline(0), self.place)
        self.run.until_committed(self.target, checkpoints=3)
        self.run.driver.stop()
        self.run.thread.join(20)
        self.store = CheckpointStore(LocalStorage(self.place / "checkpoints"))

    def pipeline(self, _: int) -> Any:
        sink = ToySink("out", self.target)
        return straight("x", self.source, sink) if self.shape is straight else forked("x", self.source, [sink])

    @property
    def contents(self) -> StoreContents:
        return CheckpointStore(LocalStorage(self.place / "checkpoints")).read()

    def chain(self) -> list[int]:
        contents = self.contents
        return [one.checkpoint for one in on_chain(contents.claims["x"], contents.records["x"])]


def plan(*promises: str) -> dict[str, Any]:
    """Of toys whose target forgets checkpoints; a second sink is one that nobody has set up."""
    nodes = dict(zip(("out[x]", "other"), promises, strict=False))
    return {"pipelines": {"x": {"sinks": {name: f"table {name}" for name in nodes}, "promises": nodes}}}


@pytest.mark.parametrize("shape", [straight, forked])
def test_the_next_driver_goes_on_from_there_and_rows_since_come_again(tmp_path: Path, shape: Any) -> None:
    """No row is missing; what was read behind the older checkpoint comes a second time, and nothing else."""
    job = Stopped(tmp_path, shape)
    contents = job.contents
    older, newest = (select(contents.claims["x"], contents.records["x"], at) for at in (-1, None))
    assert older is not None and newest is not None
    before = len(job.target.committed)
    rewind(job.store, -1, ("x",))
    assert job.chain()[-1] == older.checkpoint

    again = Run(job.pipeline(1), job.place, 1)
    again.to_the_end()
    first, second = job.target.committed[:before], job.target.committed[before:]
    rows = [rows_of([job.run, again], replace(job.target, committed=own)) for own in (first, second)]
    every = Counter({(f"s{at}", row) for at, size in enumerate((400, 300)) for row in range(size)})
    assert set(rows[0] + rows[1]) == set(every)
    assert max((rows[1]).values()) == 1, "the second driver gives each row once"


def test_what_follows_is_said_target_by_target(tmp_path: Path) -> None:
    """Keyed ones are safe, others get rows twice, and one that counts checkpoints is refused."""
    job = Stopped(tmp_path)
    (fine,) = preview(job.contents, plan("IDEMPOTENT"), -1)
    assert (fine.again, fine.twice, fine.refused) == (("table out[x]",), (), "")
    (plain,) = preview(job.contents, plan("AT_LEAST_ONCE"), -1)
    assert (plain.again, plain.twice, plain.refused) == ((), ("table out[x]",), "")
    for two in (("TWO_PHASE_COMMIT",), ("IDEMPOTENT", "IDEMPOTENT")):
        (counting,) = preview(job.contents, plan(*two), -1)
        assert "holds rows up to checkpoint" in counting.refused
    (unknown,) = preview(job.contents, {}, -1)
    assert unknown.refused, "a plan that says nothing promises nothing"
    (gone,) = preview(job.contents, plan("IDEMPOTENT"), 1_000_000)
    assert "does not hold checkpoint 1000000" in gone.refused
    assert not list(preview(job.contents, plan("IDEMPOTENT"), fine.newest))
    assert not list(preview(job.contents, plan("IDEMPOTENT"), -1, ("y",)))


def test_nothing_is_done_without_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Stopped(tmp_path)
    monkeypatch.setenv("SEATUNNEL_HOME", str(tmp_path))
    (job.place / "plan.json").write_text(json.dumps(plan("AT_LEAST_ONCE")))
    before = job.chain()

    asked = CliRunner().invoke(app, ["state", "rewind", "toy@-1"])
    assert asked.exit_code == 1 and "appear twice" in asked.output
    assert "--yes does it" in str(asked.exception)
    assert job.chain() == before
    done = CliRunner().invoke(app, ["state", "rewind", "toy@-1", "--yes"])
    assert done.exit_code == 0, done.output
    assert job.chain() == before[:-1]


def test_a_void_record_is_no_place_to_go_back_from_or_to(tmp_path: Path) -> None:
    """PS3: the next driver does not resume from it; its pieces may be gone."""
    job = Stopped(tmp_path)
    *_, older, newest = job.chain()
    owner, lineage = job.store.owner()
    assert job.store.take(owner + 1, lineage)
    with closing(JournalFile(LocalStorage(job.place / "checkpoints"), owner + 1)) as journal:
        journal.append([void_line("x", [newest], older)])
    contents, _ = read_valid(job.store, owner + 2)
    (found,) = preview(contents, plan("IDEMPOTENT"), -1)
    assert found.newest == older

    rewind(job.store, newest, ("x",))

    assert job.chain()[-1] == older


def test_a_difference_names_what_has_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Stopped(tmp_path)
    contents = job.contents
    older, newest = (select(contents.claims["x"], contents.records["x"], at) for at in (-1, None))
    assert older is not None and newest is not None
    found = difference(older, newest)

    assert found["checkpoint"] == [older.checkpoint, newest.checkpoint]
    rows = found["vertices"]["x"]["rows_read"]
    assert rows[0] < rows[1]
    assert difference(newest, newest)["vertices"] == {}
    monkeypatch.setenv("SEATUNNEL_HOME", str(tmp_path))
    said = CliRunner().invoke(app, ["state", "diff", "toy@-1", "toy"])
    assert said.exit_code == 0, said.output
    assert f"rows_read {rows[0]} -> {rows[1]}" in said.output


def test_a_target_that_counts_refuses_whatever_its_sink_promises(tmp_path: Path) -> None:
    """It would refuse the driver that goes on, when nothing could be undone any more."""
    job = Stopped(tmp_path)
    contents = job.contents
    plain: Any = [
        replace(one, plan=json.loads(json.dumps(one.plan).replace('"counted": false', '"counted": true')))
        for one in contents.records["x"]
        if isinstance(one, CheckpointRecord)
    ]
    (refused,) = preview(replace(contents, records={"x": tuple(plain)}), plan("IDEMPOTENT"), -1)
    assert "table out[x] holds rows up to checkpoint" in refused.refused
