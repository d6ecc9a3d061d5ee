"""While the engine starts, targets and sources are looked at; nothing is changed, and nothing is told, before it is there."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from seatunnel_py.api import FatalError
from seatunnel_py.errors import EngineError
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.runtime.observe.events import JobEvent, TableChanged
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.values.retry_policy import RetryPolicy
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.work.unit import Budget
from tests.kit.runtime_toys import Clock, ScriptedEngine, Target, ToySink, ToySource, driver_of, straight

SECONDS_MAX = 20
TABLES = 5
LATE_SECONDS = 0.3


class Starting:
    """A driver whose engine comes when it is ``free``, or never; what its tables' ends were told."""

    def __init__(self, place: Path, error: Exception | None = None) -> None:
        self.sources, self.sinks = [Target() for _ in range(TABLES)], [Target() for _ in range(TABLES)]
        both = enumerate(zip(self.sources, self.sinks, strict=True))
        lines = [straight(f"t{n}", ToySource(state=source), ToySink(f"t{n}", sink)) for n, (source, sink) in both]
        self.engine, self.error, self.free = ScriptedEngine(lines), error, threading.Event()
        self.events: list[JobEvent] = []
        self.told_at_begin: list[list[str]] = []
        settings = Settings(RetryPolicy(0, 0.01), Budget(10, 1.0), exchange="mem:", restarts=Backoff(0, 0.01))
        self.driver = driver_of(lines, self._await, settings, Clock(), self.events.append, place)

    def _await(self) -> ScriptedEngine:
        assert self.free.wait(SECONDS_MAX)
        if self.error is not None:
            raise self.error
        return self.engine

    def looked(self) -> None:
        """All have been looked at by now, and only that."""
        end = time.monotonic() + SECONDS_MAX
        while any(source.told != ["discover"] for source in self.sources):
            assert time.monotonic() < end
            time.sleep(0.002)
        assert [sink.told for sink in self.sinks] == [["plan"]] * TABLES
        assert self.events == []

    def begun(self) -> None:
        self.told_at_begin = [list(sink.told) for sink in self.sinks]


def test_tables_are_looked_at_while_the_engine_starts(tmp_path: Path) -> None:
    """And the time that they waited for it is not theirs."""
    job = Starting(tmp_path)
    receipts = []
    thread = threading.Thread(target=lambda: receipts.extend(job.driver.run(job.begun)), daemon=True)
    thread.start()
    job.looked()
    time.sleep(LATE_SECONDS)
    job.looked()
    job.free.set()
    thread.join(SECONDS_MAX)

    assert [receipt.state for receipt in receipts] == [TableState.DONE] * TABLES
    assert job.told_at_begin == [["plan"]] * TABLES
    assert all(receipt.seconds < LATE_SECONDS for receipt in receipts)
    assert [source.told for source in job.sources] == [["discover", "close"]] * TABLES
    job.engine.stop()


@pytest.mark.parametrize("error", [EngineError("Spark did not start"), KeyboardInterrupt()])
def test_without_an_engine_nothing_was_changed_and_nothing_stays_open(tmp_path: Path, error: BaseException) -> None:
    """It does not start, or the person has had enough by then."""
    job = Starting(tmp_path, error if isinstance(error, Exception) else None)

    def begun() -> None:
        raise error

    threading.Timer(LATE_SECONDS, job.free.set).start()
    with pytest.raises(type(error)):
        job.driver.run(begun)

    assert [source.told for source in job.sources] == [["discover", "close"]] * TABLES
    assert [sink.told for sink in job.sinks] == [["plan"]] * TABLES
    assert job.engine.registered == [] and job.events == []
    job.engine.stop()


def test_what_could_not_be_looked_at_is_told_when_the_job_has_begun(tmp_path: Path) -> None:
    """A table that fails before there is an engine fails alone, behind the news that the job has begun."""
    job = Starting(tmp_path)

    def refuse(what: str) -> None:
        raise FatalError("no such table")

    job.sinks[2].act = refuse
    threading.Timer(LATE_SECONDS, job.free.set).start()
    receipts = job.driver.run(lambda: job.events.clear())

    states = [receipt.state for receipt in receipts]
    assert states.pop(2) is TableState.ISOLATED and states == [TableState.DONE] * (TABLES - 1)
    failed = [event for event in job.events if isinstance(event, TableChanged) and event.state is TableState.ISOLATED]
    assert [event.name for event in failed] == ["t2"]
    assert receipts[2].seconds == 0.0 and all(receipt.seconds >= 0 for receipt in receipts)
    job.engine.stop()
