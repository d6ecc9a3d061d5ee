"""Residents on a real Spark: their connection and their slot outlast their units, and nobody waits for ever."""

from __future__ import annotations

import os
import queue
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client
from pathlib import Path

import pytest
from toys import Lines, Numbers, Streams, chain, table_of, unit, written

from seatunnel_py.api import Position, TablePath
from seatunnel_py.api.source import Split
from seatunnel_py.runtime.messages.engine_port import EngineEvent, UnitFinished, UnitLost, UnitStarted
from seatunnel_py.spark.app.session import SparkApplication
from seatunnel_py.spark.packs import resident_workers
from seatunnel_py.spark.packs.engine import SparkEngine
from seatunnel_py.work.chain import Chain, ChainSink, ChainSource
from seatunnel_py.work.unit import Budget, FailureKind, Unit, UnitId, UnitResult

pytestmark = pytest.mark.spark

WAIT_SECONDS_MAX = 120.0
PATH = TablePath.parse("streams")


class Harness:
    """An engine whose residents may take a slot of the two."""

    def __init__(self, spark: SparkApplication, place: Path, most: int = 1) -> None:
        self.place = place
        self.engine = SparkEngine(spark.context, 1, place / "exchange", most)
        self.events: queue.Queue[EngineEvent] = queue.Queue()
        self.engine.start(self.events.put)
        self.numbers = 0

    def stream(self, **source: object) -> None:
        head = ChainSource("streams", Streams(str(self.log), **source), table_of("streams"), resident=True)  # type: ignore[arg-type]
        sink = Lines(str(self.place / "out"))
        self.engine.register(Chain("streams", "job", "lineage", 1, head, sinks=(ChainSink("lines", PATH, sink),)))

    @property
    def log(self) -> Path:
        return self.place / "log"

    def submit(self, start: Position | None, epoch: int = 0, subtask: int = 0, **more: object) -> UnitId:
        self.numbers += 1
        who = UnitId("streams", self.numbers, epoch, 0, subtask)
        self.engine.submit(Unit(who, Split(f"s{subtask}", PATH), start, budget=Budget(20, 60.0), **more))  # type: ignore[arg-type]
        return who

    def end(self) -> UnitResult | str:
        """How the next unit ends."""
        while True:
            match self.events.get(timeout=WAIT_SECONDS_MAX):
                case UnitFinished(result):
                    return result
                case UnitLost(_, reason):
                    return reason

    def run(self, start: Position | None, **more: object) -> UnitResult:
        self.submit(start, **more)  # type: ignore[arg-type]
        result = self.end()
        assert isinstance(result, UnitResult) and result.failure is None, result
        return result

    def told(self, what: str) -> list[list[str]]:
        return [line.split() for line in self.log.read_text().splitlines() if line.startswith(what)]


@pytest.fixture
def harness(spark: SparkApplication, tmp_path: Path) -> Iterator[Harness]:
    made = Harness(spark, tmp_path)
    yield made
    made.engine.stop()


def test_units_keep_their_connection_and_their_slot(harness: Harness) -> None:
    """One reader in one process for all of them; packs go on beside it."""
    harness.stream()
    at: Position | None = None
    for number in range(30):
        at = harness.run(at).next
        if number == 10:
            harness.engine.register(chain(Numbers("other", rows=30), harness.place / "other"))
            harness.engine.submit(unit(Numbers("other", rows=30)))
            other = harness.end()
            assert isinstance(other, UnitResult) and other.rows == 30

    assert len(harness.told("open")) == 1 and not harness.told("close")
    assert written(harness.place / "out") == list(range(600))


def test_a_killed_resident_costs_its_unit_an_attempt(harness: Harness) -> None:
    harness.stream(act="kill", at=30)
    at = harness.run(None).next
    harness.submit(at)
    assert "worker process died" in str(harness.end())
    assert harness.run(at).next == Position({"n": 40})

    (_, _, first, one), (_, _, second, two) = harness.told("open")
    assert (first, second) == ("0", "20") and one != two


def test_one_that_dies_while_it_waits_is_replaced(harness: Harness) -> None:
    """Nobody has heard of its death when the next unit comes."""
    harness.stream()
    at = harness.run(None).next
    os.kill(int(harness.told("open")[0][-1]), signal.SIGKILL)
    harness.submit(at)
    result = harness.end()
    if not isinstance(result, UnitResult):  # the dead one was given it
        result = harness.run(at)
    assert result.next == Position({"n": 40})


def test_another_life_gets_another_one(harness: Harness) -> None:
    """Which begins where its checkpoint says; the reader of the life before is closed."""
    harness.stream()
    harness.run(harness.run(None).next)
    result = harness.run(Position({"n": 20}), epoch=1)
    assert result.next == Position({"n": 40})
    harness.run(result.next, epoch=1)

    assert [at for _, _, at, _ in harness.told("open")][:2] == ["0", "20"]


def test_a_cancelled_unit_ends_and_takes_its_resident_along(harness: Harness) -> None:
    harness.stream(act="sleep", at=20)
    at = harness.run(None).next
    waiting = harness.submit(at)
    while harness.events.get(timeout=WAIT_SECONDS_MAX) != UnitStarted(waiting):
        pass
    harness.engine.cancel(waiting)
    assert "cancelled" in str(harness.end())
    assert harness.run(at, epoch=1).next == Position({"n": 40})


def test_one_that_hangs_is_ended_at_its_deadline(harness: Harness) -> None:
    harness.stream(act="sleep", at=20)
    at = harness.run(None).next
    harness.submit(at, deadline_seconds=1.0)
    result = harness.end()
    assert isinstance(result, UnitResult) and result.failure is not None
    assert result.failure.kind is FailureKind.DEADLINE
    assert harness.run(at).next == Position({"n": 40})


def test_who_finds_no_slot_runs_in_packs(harness: Harness) -> None:
    """And is as exact."""
    harness.stream()
    places: dict[int, Position | None] = {0: None, 1: None}
    for _ in range(4):
        for subtask in places:
            places[subtask] = harness.run(places[subtask], subtask=subtask).next

    opened = [split for _, split, _, _ in harness.told("open")]
    assert opened.count("s0") == 1 and opened.count("s1") == 4
    assert written(harness.place / "out") == sorted([*range(80), *range(80)])


def test_who_has_nothing_to_do_gives_its_slot_back(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    harness.stream()
    harness.run(None)
    monkeypatch.setattr(resident_workers, "IDLE_SECONDS", 0.0)
    at = harness.run(None, subtask=1).next
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not harness.told("close s0"):
        assert time.monotonic() < deadline
        at = harness.run(at, subtask=1).next


def test_a_chain_that_cannot_be_sent_fails_its_unit(harness: Harness) -> None:
    """The plugin's fault: a fatal result that says so, and nobody is called."""
    harness.stream()
    with (harness.place / "open").open("w") as handle:
        harness.engine.register(replace(harness.engine._chains["streams"], lineage=handle))
        harness.submit(None)
        result = harness.end()

    assert isinstance(result, UnitResult) and result.failure is not None
    assert result.failure.kind is FailureKind.FATAL
    assert "streams cannot be sent to a worker: TypeError" in result.failure.message
    harness.stream()
    assert harness.run(None).next == Position({"n": 20})


def test_strangers_are_turned_away(harness: Harness) -> None:
    """Whoever calls without the key learns nothing, and keeps nobody from calling."""
    harness.stream()
    at = harness.run(None).next
    listener = harness.engine._residents._board._listener
    assert listener is not None
    silent = Client(listener.address)
    with pytest.raises((AuthenticationError, EOFError, OSError)):
        Client(listener.address, authkey=b"a guess")

    assert harness.run(at, epoch=1).next == Position({"n": 40})
    assert harness.told("close s0"), "another one has called, and has read"
    silent.close()


def test_an_engine_that_stops_ends_them(spark: SparkApplication, tmp_path: Path) -> None:
    """The one at work too."""
    harness = Harness(spark, tmp_path)
    harness.stream(act="sleep", at=20)
    at = harness.run(None).next
    waiting = harness.submit(at)
    while harness.events.get(timeout=WAIT_SECONDS_MAX) != UnitStarted(waiting):
        pass
    harness.engine.stop()
    assert "the engine was stopped" in str(harness.end())
