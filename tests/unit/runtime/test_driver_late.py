"""Answers that come behind the end: a write, a pause or a worker that was waited for when a pipeline ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py.api import RetriableError
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.runtime.observe.events import JobEvent, TableChanged, UnitRetried
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.storage.journal import JournalFile
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from seatunnel_py.runtime.values.retry_policy import RetryPolicy
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.work.unit import Budget, Unit, UnitId
from tests.kit.runtime_toys import (
    Clock,
    ScriptedEngine,
    Target,
    ToySink,
    ToySource,
    driver_of,
    failed,
    forked,
    straight,
)

SECONDS_MAX = 20


class Job:
    """A driver in a thread of its own, over pipelines whose units a script ends."""

    def __init__(
        self, pipelines: list[Pipeline], place: Path, retry: float = 0.01, interval: float | None = None
    ) -> None:
        self.engine = ScriptedEngine(pipelines)
        self.events: list[JobEvent] = []
        settings = Settings(
            RetryPolicy(3, retry),
            Budget(10, 1.0),
            exchange="mem:",
            checkpoint=CheckpointSettings(interval=interval),
            restarts=Backoff(3, retry / 8, longest=retry),
        )
        self.driver = driver_of(pipelines, self.engine, settings, Clock(), self.events.append, place)
        self.thread = threading.Thread(target=self.driver.run, daemon=True)

    def end(self) -> None:
        self.thread.join(SECONDS_MAX)
        assert not self.thread.is_alive(), "the job hangs"
        self.engine.stop()


class SlowDisk:
    """The journal's disk: entries of units wait until it is ``free``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.busy, self.free, self.next = threading.Event(), threading.Event(), threading.Event()
        append = JournalFile.append

        def slowly(file: JournalFile, lines: Iterable[Mapping[str, Any]]) -> None:
            written = list(lines)
            if any("n" in line for line in written):
                self.busy.set()
                assert self.free.wait(SECONDS_MAX)
            elif self.busy.is_set():
                self.next.set()
            append(file, written)

        monkeypatch.setattr(JournalFile, "append", slowly)


class Gate:
    def __init__(self, what: str) -> None:
        self.reached, self.open = threading.Event(), threading.Event()
        self._what = what

    def __call__(self, what: str) -> None:
        if what == self._what:
            self.reached.set()
            assert self.open.wait(SECONDS_MAX)


def wait_until(true: Any) -> None:
    end = time.monotonic() + SECONDS_MAX
    while not true():
        assert time.monotonic() < end
        time.sleep(0.002)


def one_of_two_fails(place: Path, disk: SlowDisk, target: Target) -> Job:
    """A source with two subtasks: one has read its first rows, whose entry waits for the disk; the other is refused."""
    job = Job([forked("x", ToySource((30, 5)), [ToySink("one", target)], parallelism=2)], place)

    def script(unit: Unit) -> Any:
        return None if unit.split and unit.split.id == "s1" else job.engine.work(unit)

    job.engine.script = script
    job.thread.start()
    assert disk.busy.wait(SECONDS_MAX)
    wait_until(lambda: job.engine.held)
    ((unit, _),) = job.engine.held.items()
    job.engine._say(unit, failed(unit))
    job.engine._thread.submit(lambda: None).result(SECONDS_MAX)  # the loop hears of it before the disk is free
    return job


def test_an_entry_that_becomes_durable_behind_the_end_begins_no_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the pipeline staged is being dropped already: a unit that begins now stages something that nobody drops."""
    disk, gate = SlowDisk(monkeypatch), Gate("abort")
    job = one_of_two_fails(tmp_path, disk, Target(gate))
    disk.free.set()
    assert disk.next.wait(SECONDS_MAX)  # the loop has heard of the first write
    assert gate.reached.wait(SECONDS_MAX)
    gate.open.set()
    job.end()

    assert [str(unit.id) for unit in job.engine.submitted] == ["x#1.e0.a0", "x/1#1.e0.a0"]


def test_that_everything_was_taken_back_is_written_however_busy_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the next driver goes on with rows that were dropped, and with a set-up that was undone."""
    disk, target = SlowDisk(monkeypatch), Target()
    job = one_of_two_fails(tmp_path, disk, target)
    time.sleep(0.1)
    assert "abort" not in target.told, "nothing is taken back before it is durable that it will be"
    disk.free.set()
    job.end()

    file = JournalFile(LocalStorage(tmp_path / "checkpoints"), 2)
    file.close()
    assert file.journal.dropped == {"x"}


@pytest.mark.parametrize("at", ["plan", "discover", "setup"])
def test_a_pause_that_ends_behind_the_end_starts_nothing(tmp_path: Path, at: str) -> None:
    """A table is stopped between two tries while another one is at its last commit: what is tried again then would
    leave a snapshot open, or a staging table that was dropped already."""
    tried = Target()

    def away(what: str) -> None:
        if what == at:
            raise RetriableError("no answer")

    tried.act = away
    gate = Gate("commit")
    x = straight("x", ToySource((5,), tried), ToySink("out", tried))
    job = Job([x, straight("y", sink=ToySink("out", Target(gate)))], tmp_path, retry=16)  # the first pause: 0.5 s
    job.thread.start()
    assert gate.reached.wait(SECONDS_MAX)
    wait_until(lambda: any(isinstance(event, UnitRetried) for event in job.events))
    job.driver.stop()
    time.sleep(0.8)
    gate.open.set()
    job.end()

    assert tried.told.count(at) == 1


def test_rows_that_were_staged_by_a_unit_that_ended_late_are_dropped(tmp_path: Path) -> None:
    """It was cancelled, and ended well all the same: the abort waits for it, and names its piece."""
    target = Target()
    job = Job([straight("x", ToySource((10, 10)), ToySink("out", target), parallelism=2)], tmp_path)
    held: list[Unit] = []
    job.engine.script = lambda unit: held.append(unit)
    job.engine.cancel = lambda unit: job.engine.cancelled.append(unit)  # type: ignore[method-assign]
    job.thread.start()
    job.engine.wait_for_units(2)
    job.driver.stop()
    wait_until(lambda: len(job.engine.cancelled) == 2)
    assert "abort" not in target.told
    for unit in held:
        job.engine._say(unit.id, job.engine.work(unit))
    job.end()

    assert target.told.count("abort") == 1
    assert [piece.rows for piece in target.aborted] == [10, 10]


def test_an_engine_that_takes_its_time_to_cancel_a_unit_holds_up_no_other_table(tmp_path: Path) -> None:
    """B15 of the machine's study: Spark was asked on the loop."""
    slow, quick = straight("slow", ToySource((10,))), straight("quick", ToySource((10,)))
    job = Job([slow, quick], tmp_path)
    asked, free = threading.Event(), threading.Event()
    cancel = job.engine.cancel

    def slowly(unit: UnitId) -> None:
        asked.set()
        assert free.wait(SECONDS_MAX)
        cancel(unit)

    job.engine.cancel = slowly  # type: ignore[method-assign]
    job.engine.script = lambda unit: None
    job.thread.start()
    job.engine.wait_for_units(2)
    (waits,) = [unit for unit in job.engine.held.values() if unit.id.vertex == "quick"]
    job.driver.post(
        lambda: job.driver.job.cancel_all([job.driver.job.pipelines["slow"]], "it was cancelled", whole=False)
    )
    assert asked.wait(SECONDS_MAX)
    job.engine._say(waits.id, job.engine.work(waits))
    wait_until(lambda: any(isinstance(one, TableChanged) and one.state is TableState.DONE for one in list(job.events)))
    free.set()
    job.end()
