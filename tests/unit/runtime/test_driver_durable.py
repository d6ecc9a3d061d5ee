"""The driver and its store and journal: what cannot be written, and a driver that was overtaken."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_driver_late import Job, wait_until

from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.runtime.driver.admission import OPEN_MAX
from seatunnel_py.runtime.observe.events import TableChanged
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.resume.job_claim import claim_job
from seatunnel_py.runtime.storage import journal
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore, StoreError
from seatunnel_py.runtime.storage.checksum_seal import bond_of
from seatunnel_py.runtime.storage.journal import JournalFile, kept_line
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from seatunnel_py.work.unit import Budget, FailureKind, Unit
from tests.kit.runtime_toys import Target, ToySink, ToySource, failed, forked, straight


def ended(job: Job) -> list[TableState]:
    return [event.state for event in job.events if isinstance(event, TableChanged) and event.state.ended]


def causes(job: Job) -> list[str]:
    return [event.failure.message for event in job.events if isinstance(event, TableChanged) and event.failure]


def pipeline_of(target: Target, source: Target | None = None) -> Pipeline:
    return straight("x", ToySource((10, 10), source or Target()), ToySink("out", target))


def overtaken(place: Path, target: Target, source: Target) -> Job:
    """A driver that learns by its last checkpoint that another one has taken the job over."""
    job = Job([pipeline_of(target, source)], place)
    job.engine.script = lambda unit: None
    job.thread.start()
    job.engine.wait_for_units(1)
    claim_job(CheckpointStore(LocalStorage(place / "checkpoints")), ["x"])
    job.engine.script = job.engine.work
    ((unit_id, unit),) = job.engine.held.items()
    job.engine._say(unit_id, job.engine.work(unit))
    job.end()
    return job


def test_an_overtaken_driver_commits_nothing(tmp_path: Path) -> None:
    """I34: it ends, and lets go of what it held."""
    target, source = Target(), Target()
    job = overtaken(tmp_path, target, source)

    assert ended(job) in ([TableState.FAILED], [TableState.STOPPED])
    assert "commit" not in target.told
    assert source.told == ["discover", "close"]


def test_tables_that_wait_when_a_driver_is_overtaken_end_too(tmp_path: Path) -> None:
    """B11 of the machine's study: they stayed PENDING, and whoever cancelled them waited for ever."""
    names = [f"t{number}" for number in range(OPEN_MAX + 20)]
    job = Job([straight(name) for name in names], tmp_path)
    job.engine.script = lambda unit: None
    job.thread.start()
    job.engine.wait_for_units(1)
    claim_job(CheckpointStore(LocalStorage(tmp_path / "checkpoints")), names)
    job.driver.post(job.driver.job.look_for_another)
    job.end()

    assert set(ended(job)) == {TableState.ISOLATED} and len(ended(job)) == len(names)
    assert set(job.driver.job.closed) == set(names)


def test_an_overtaken_driver_takes_nothing_back(tmp_path: Path) -> None:
    """What is staged belongs to the driver that took over: its staging tables would be dropped under it (I34)."""
    target = Target()
    overtaken(tmp_path, target, Target())

    assert target.told == ["plan", "setup"]


def test_what_an_overtaken_driver_staged_is_of_no_use_once_the_job_has_ended(tmp_path: Path) -> None:
    """The newer one has swept, before that was there."""
    target = Target()
    job = overtaken(tmp_path, target, Target())
    assert target.aborted == []

    job.driver.withdraw()

    assert [piece.rows for piece in target.aborted] == [10, 10]


def test_an_overtaken_driver_drops_what_a_unit_staged_behind_its_end(tmp_path: Path) -> None:
    """I33: nobody else knows of that, for no snapshot has named it."""
    target = Target()
    job = Job([straight("x", ToySource((10, 10)), ToySink("out", target), parallelism=2)], tmp_path)
    job.engine.script = lambda unit: None
    job.engine.cancel = lambda unit: job.engine.cancelled.append(unit)  # type: ignore[method-assign]
    job.thread.start()
    job.engine.wait_for_units(2)
    claim_job(CheckpointStore(LocalStorage(tmp_path / "checkpoints")), ["x"])
    job.driver.post(job.driver.job.look_for_another)
    wait_until(lambda: len(job.engine.cancelled) == 2)
    for unit_id, unit in list(job.engine.held.items()):
        job.engine._say(unit_id, job.engine.work(unit))
    job.end()

    assert [piece.rows for piece in target.aborted] == [10, 10]
    assert "commit" not in target.told


def test_a_driver_whose_job_another_one_has_finished_withdraws_where_it_cannot_write_its_journal(
    tmp_path: Path,
) -> None:
    """I33, I34: the store is gone with the job, and what this one still staged is nobody's. Found by the crash sweep:
    it died of the missing journal, and left its files behind."""
    target = Target()
    job = Job([straight("x", ToySource((10, 10)), ToySink("out", target), parallelism=2)], tmp_path)
    job.engine.script = lambda unit: None
    job.thread.start()
    job.engine.wait_for_units(2)
    shutil.rmtree(tmp_path / "checkpoints")
    (first, whole), (second, _) = job.engine.held.items()
    job.engine._say(first, job.engine.work(whole))
    job.engine._say(second, failed(second, FailureKind.FATAL))
    job.end()
    job.driver.withdraw()

    assert "commit" not in target.told
    assert [piece.rows for piece in target.aborted] == [10]


def refuse(kind: RecordKind, monkeypatch: pytest.MonkeyPatch) -> None:
    write = CheckpointStore.write

    def full(store: CheckpointStore, incarnation: int, records: Mapping[str, CheckpointRecord]) -> Any:
        if any(record.kind is kind for record in records.values()):
            raise StoreError("the store cannot be written: No space left on device", "look at space")
        return write(store, incarnation, records)

    monkeypatch.setattr(CheckpointStore, "write", full)


def test_without_checkpoint_0_nothing_is_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """I10: no effect without a durable record of what was decided."""
    target = Target()
    with monkeypatch.context() as patching:
        refuse(RecordKind.ZERO, patching)
        job = Job([pipeline_of(target)], tmp_path)
        job.thread.start()
        job.end()

    assert ended(job) == [TableState.FAILED]
    assert "setup" not in target.told and "commit" not in target.told
    assert job.engine.submitted == []


@pytest.mark.parametrize("kind", [RecordKind.ZERO, RecordKind.FINAL])
def test_people_learn_why_the_store_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: RecordKind
) -> None:
    """Somewhere: as the cause of a table, or of a checkpoint that failed."""
    with monkeypatch.context() as patching:
        refuse(kind, patching)
        job = Job([pipeline_of(Target())], tmp_path)
        job.thread.start()
        job.end()

    assert "No space left" in str(job.events)


def test_a_job_whose_last_checkpoint_could_not_be_stored_shows_nothing_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows become visible behind a durable record only; the number of tries is bounded (I15)."""
    target = Target()
    with monkeypatch.context() as patching:
        refuse(RecordKind.FINAL, patching)
        job = Job([pipeline_of(target)], tmp_path)
        job.thread.start()
        job.end()

    assert ended(job) == [TableState.FAILED]
    assert "commit" not in target.told


def test_a_journal_that_cannot_be_written_ends_the_driver_and_the_next_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No unit could be shown any more. Nothing is taken back, nothing is lost."""
    targets = [Target(), Target()]
    pipelines = [forked("x", ToySource((30,)), [ToySink("one", targets[0]), ToySink("two", targets[1])])]
    append = JournalFile.append
    entries = 0

    def full(file: JournalFile, lines: Iterable[Mapping[str, Any]]) -> None:
        nonlocal entries
        written = list(lines)
        entries += sum("n" in line for line in written)
        if entries > 1:
            raise OSError(28, "No space left on device")
        append(file, written)

    errors: list[BaseException] = []
    with monkeypatch.context() as patching:
        patching.setattr(JournalFile, "append", full)
        job = Job(pipelines, tmp_path)

        def run() -> None:
            try:
                job.driver.run()
            except OSError as error:
                errors.append(error)

        job.thread._target = run  # type: ignore[attr-defined]
        job.thread.start()
        job.end()
    assert len(errors) == 1
    assert not any("abort" in target.told or "commit" in target.told for target in targets)

    again = Job(pipelines, tmp_path)
    again.thread.start()
    again.end()

    assert ended(again) == [TableState.DONE]
    assert [sum(piece.rows for piece in target.committed) for target in targets] == [30, 30]
    assert [target.told.count("setup") for target in targets] == [1, 1]


def test_the_first_unit_of_the_next_driver_is_that_of_the_journal(tmp_path: Path) -> None:
    """I39: what an earlier driver has shown under a number is read again exactly, whatever the budget says."""
    pipelines = [forked("x", ToySource((30,)), [ToySink("one")])]
    job = Job(pipelines, tmp_path)

    def script(unit: Unit) -> Any:
        return job.engine.work(unit) if unit.split and unit.id.sequence < 3 else None

    job.engine.script = script
    job.thread.start()
    wait_until(lambda: any(unit.id.sequence == 3 for unit in job.engine.submitted))

    again = Job(pipelines, tmp_path)

    def exactly(unit: Unit) -> Any:
        start = int(str(unit.start.value["n"])) if unit.start else 0
        rows = 10 if unit.until is None else int(str(unit.until.value["n"])) - start
        return again.engine.work(replace(unit, budget=Budget(rows)))

    again.engine.script = exactly
    again.thread.start()
    again.end()
    read = [unit for unit in again.engine.submitted if unit.split]

    assert [(unit.id.sequence, unit.until and unit.until.value) for unit in read] == [
        (1, {"n": 10}),
        (2, {"n": 20}),
        (3, None),
    ]
    job.driver.stop()
    job.end()


def test_what_numbers_are_called_outlives_the_driver(tmp_path: Path) -> None:
    """A life of it gave them to other rows than the one before: a target that knows unit 2 of that must not take the
    next driver's unit 2 for it."""
    pipelines = [forked("x", ToySource((30,)), [ToySink("one")])]
    job = Job(pipelines, tmp_path)
    job.engine.script = lambda unit: job.engine.work(unit) if unit.split and unit.id.sequence < 3 else None
    job.thread.start()
    wait_until(lambda: any(unit.id.sequence == 3 for unit in job.engine.submitted))
    storage, name = LocalStorage(tmp_path / "checkpoints"), "00000001-00000001"
    number = (storage.get(f"journal/{name}") or b"").count(b"\n") + 1
    line = journal._encoded(name + bond_of(storage, 1).lineage, number, kept_line("x", Subtask("x"), 1, 2, "1.7"))
    storage.append(f"journal/{name}", line)

    again = Job(pipelines, tmp_path)
    again.thread.start()
    again.end()
    names = {item.channel for unit in again.engine.submitted for item in unit.slices}

    assert names == {"0:x[0]>x>0[0]@1.7"}
    job.driver.stop()
    job.end()
