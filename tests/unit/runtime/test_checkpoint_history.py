"""G2: each checkpoint of a job is on file with its phases, size and rows; the numbers are those of the records."""

from __future__ import annotations

import json
import random
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_driver_random import Fates, Job, Shape, built, jobs, seeds, shapes_of

from seatunnel_py.runtime.diagnosis import checkpoint_log
from seatunnel_py.runtime.diagnosis.checkpoint_log import CheckpointLog
from seatunnel_py.runtime.observe import checkpoint_history
from seatunnel_py.runtime.observe.checkpoint_history import CheckpointHistory
from seatunnel_py.runtime.observe.events import (
    CheckpointCommitted,
    CheckpointDone,
    CheckpointFacts,
    JobEvent,
    JobStarted,
)
from seatunnel_py.runtime.observe.receipt import TableState


def written(path: Path, events: list[JobEvent]) -> CheckpointHistory:
    with CheckpointLog(path) as log:
        for event in events:
            log(event)
    return checkpoint_history.read(path, kept=None)


def ended(checkpoint: int, reason: str = "", pipeline: str = "p", at: float = 10.0) -> CheckpointDone:
    facts = CheckpointFacts("periodic", "", at - 3, None if reason else at - 1, "" if reason else "sink", 100, 7)
    return CheckpointDone(pipeline, "orders", checkpoint, reason, ("sink",) if reason else (), at, facts=facts)


@given(jobs, seeds, st.sampled_from([None, 0.004]))
@settings(max_examples=25)
def test_the_history_of_a_run_is_complete(shapes: list[Shape], seed: int, interval: float | None) -> None:
    """Without failures each checkpoint is complete and committed, its phases follow one another, it has a size, and
    the rows of all of them together are those of the receipt."""
    pipelines = built(shapes)
    with tempfile.TemporaryDirectory() as place:
        job = Job(pipelines, Path(place), Fates(random.Random(seed)), {}, interval=interval)
        job.run()
        found = written(Path(place) / "checkpoints.jsonl", job.events)

    assert found.failed == 0 and found.completed == len(found.attempts) >= len(pipelines)
    for one in found.attempts:
        assert one.acknowledged is not None and one.committed is not None
        assert one.triggered <= one.acknowledged <= one.ended <= one.committed
        assert one.bytes > 0 and one.slowest and one.kind in ("periodic", "final")
        assert sum(one.phases.values()) == pytest.approx(one.committed - one.triggered)
    finals = Counter(one.pipeline for one in found.attempts if one.kind == "final")
    assert finals == Counter(pipeline.id for pipeline in pipelines)
    assert sum(one.rows for one in found.attempts) == sum(table.rows_read for table in job.tables)


@given(st.lists(shapes_of("chain", "union", "fork"), min_size=1, max_size=2), seeds, st.integers(1, 40))
@settings(max_examples=25)
def test_the_history_goes_on_over_the_drivers_of_a_job(shapes: list[Shape], seed: int, dies_at: int) -> None:
    """A driver dies at any moment and another one goes on: rows that were in a durable record count once, whichever
    driver read them, and in the end everything is committed."""
    pipelines, chance = built(shapes), random.Random(seed)
    exchange: dict[str, list[tuple[str, str, int]]] = {}
    with tempfile.TemporaryDirectory() as place:
        first = Job(pipelines, Path(place), Fates(chance), exchange, interval=0.004, dies_at=dies_at)
        first.run()
        last = Job(pipelines, Path(place), Fates(chance), exchange, interval=0.004)
        last.run()
        found = written(Path(place) / "checkpoints.jsonl", [*first.events, *last.events])

    assert {table.state for table in last.tables} == {TableState.DONE}
    kept = all(one.completed for one in found.attempts)
    if kept and not (first.error and _lost_reports(first, last)):
        assert sum(one.rows for one in found.attempts) == sum(table.rows_read for table in last.tables)
    for pipeline in pipelines:
        newest = [one for one in found.attempts if one.pipeline == pipeline.id and one.completed]
        if newest:
            assert newest[-1].committed is not None, "the last one is visible, or the job were not done"


def _lost_reports(first: Job, last: Job) -> bool:
    """Whether a record of the first driver became durable, and the driver died before it could be reported."""
    told = {
        (event.pipeline, event.checkpoint)
        for event in first.events
        if isinstance(event, CheckpointDone) and not event.reason
    }
    began = {machine.pipeline.id: machine.begins_with for machine in last.driver.job.pipelines.values()}
    return any(
        record is not None and str(record.kind) != "zero" and (pipeline, record.checkpoint) not in told
        for pipeline, record in began.items()
    )


def test_a_failed_checkpoint_names_those_that_have_not_answered(tmp_path: Path) -> None:
    found = written(
        tmp_path / "checkpoints.jsonl", [ended(1), ended(2, "expired"), CheckpointCommitted("p", "", 1, 12)]
    )

    first, second = found.attempts
    assert (found.completed, found.failed) == (1, 1)
    assert first.phases == {"align": 2.0, "store": 1.0, "commit": 2.0} and first.seconds == 3.0
    assert (second.reason, second.missing, second.phases, second.committed) == ("expired", ("sink",), {}, None)


def test_a_refused_request_is_no_checkpoint(tmp_path: Path) -> None:
    found = written(tmp_path / "checkpoints.jsonl", [CheckpointDone("p", "orders", 0, "sp: busy", (), 1.0)])
    assert found == CheckpointHistory()


def test_lines_name_their_driver_and_others_are_skipped(tmp_path: Path) -> None:
    """A half line is one that is being written; lines of later releases may have further keys."""
    path = tmp_path / "checkpoints.jsonl"
    started = JobStarted("j", "job", ("orders",), None, 0.0, driver=4)
    written(path, [started, ended(1)])
    line = json.loads(path.read_text())
    with path.open("a") as file:
        file.write(json.dumps({**line, "checkpoint": 2, "later": True}) + "\n")
        file.write('{"an": "unknown line"}\n[1]\nno json\n' + json.dumps(line)[:40])

    found = checkpoint_history.read(path)
    assert [(one.checkpoint, one.driver) for one in found.attempts] == [(1, 4), (2, 4)]


def test_the_newest_are_kept_all_are_counted_and_one_pipeline_can_be_chosen(tmp_path: Path) -> None:
    events = [ended(number, "" if number % 3 else "expired", "ab"[number % 2]) for number in range(1, 31)]
    path = tmp_path / "checkpoints.jsonl"
    written(path, [*events, CheckpointCommitted("b", "orders", 1, 20.0)])

    found = checkpoint_history.read(path, kept=5)
    assert [one.checkpoint for one in found.attempts] == [26, 27, 28, 29, 30]
    assert (found.completed, found.failed) == (20, 10)
    assert {one.pipeline for one in checkpoint_history.read(path, pipeline="a").attempts} == {"a"}


def test_the_history_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """G9: two files, of which the older one is dropped; what is read is the newest part, without a gap."""
    monkeypatch.setattr(checkpoint_log, "LIMIT_BYTES", 4_000)
    path = tmp_path / "checkpoints.jsonl"
    found = written(path, [ended(number) for number in range(1, 201)])

    assert sum(one.stat().st_size for one in tmp_path.iterdir()) <= 8_000
    numbers = [one.checkpoint for one in found.attempts]
    assert numbers[-1] == 200 and numbers == list(range(numbers[0], 201)) and len(numbers) > 10


def test_the_newest_is_found_at_the_end_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the whole history, also where its line is further from the end than the part that is read."""
    path = tmp_path / "checkpoints.jsonl"
    assert checkpoint_history.newest(path) is None
    written(path, [ended(1), ended(2), CheckpointCommitted("p", "orders", 2, 12.0), ended(3, pipeline="q")])
    for size in (2**16, 500, 10):
        monkeypatch.setattr(checkpoint_history, "TAIL_BYTES", size)
        assert checkpoint_history.newest(path) == checkpoint_history.read(path).attempts[-1]
