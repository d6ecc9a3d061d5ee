"""What lies in the exchange of a stream: nothing that is still needed is removed, and nothing else stays."""

from __future__ import annotations

import random
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from test_driver_late import SECONDS_MAX, wait_until
from test_enumerating import unbounded
from test_savepoint import record

from seatunnel_py.api import TablePath
from seatunnel_py.config.env import Retain
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.stream_elements import TakenInput
from seatunnel_py.runtime.messages.effects import RemoveSegments
from seatunnel_py.runtime.observe.events import JobEvent, TableChanged
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore
from seatunnel_py.runtime.storage.journal import Journal, taken_line
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from seatunnel_py.runtime.storage.segment_sweep import sweep
from seatunnel_py.runtime.subtasks.segment_retention import SegmentRetention
from seatunnel_py.runtime.values.retry_policy import RetryPolicy
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.work.unit import Budget, FailureKind, Slice, Unit, UnitResult
from tests.kit.runtime_toys import Clock, ScriptedEngine, Target, ToySink, ToySource, driver_of, failed, forked

SEGMENT_BYTES = 1_000


class Stream:
    """A source with two sinks behind it, whose rows lie in files; sinks look whether these are there. ``rows``: None for
    a stream."""

    def __init__(
        self,
        place: Path,
        *,
        retain: Retain = Retain.AUTO,
        most: int = 10**9,
        fails: float = 0.0,
        interval: float | None = 0.05,
        rows: int | None = None,
    ) -> None:
        sinks = [ToySink("one", Target()), ToySink("two", Target())]
        stream = unbounded(forked("x", ToySource((10**9,)), sinks))
        self.pipelines: list[Pipeline] = [stream if rows is None else forked("x", ToySource((rows,)), sinks)]
        self.place, self.exchange = place, place / "exchange"
        self.exchange.mkdir(exist_ok=True)
        self.engine = ScriptedEngine(self.pipelines, self.work)
        self.events: list[JobEvent] = []
        self.missing: list[str] = []
        self.slow = threading.Event()
        self.largest = 0
        self.fails, self.random = fails, random.Random(7)
        settings = Settings(
            RetryPolicy(0, 0.001), Budget(10, 1.0), exchange=str(self.exchange), retain=retain,
            restarts=Backoff(10_000, 0.001, longest=0.002), exchange_max_bytes=most,
            checkpoint=CheckpointSettings(interval=interval, alignment_timeout=None),
        )  # fmt: skip
        self.driver = driver_of(self.pipelines, self.engine, settings, Clock(), self.events.append, place)
        self.thread = threading.Thread(target=self.driver.run, daemon=True)

    def work(self, unit: Unit) -> UnitResult | None:
        result = ScriptedEngine.work(self.engine, unit)
        if unit.split is None:
            self.missing += [one.segment for one in unit.slices if not Path(one.segment).exists()]
            if self.slow.is_set():
                return None
            if self.random.random() < self.fails:
                return failed(unit.id, FailureKind.RETRIABLE)
            return result
        segment = self.exchange / f"{self.driver.job._authority.incarnation}.{unit.id}".replace("/", "_")
        segment.write_bytes(b"x" * SEGMENT_BYTES)
        self.largest = max(self.largest, sum(1 for _ in self.exchange.iterdir()) * SEGMENT_BYTES)
        return replace(
            result, slices=tuple(replace(one, segment=str(segment), bytes=SEGMENT_BYTES) for one in result.slices)
        )

    def __enter__(self) -> Stream:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.driver.stop()
        self.driver.stop()
        self.thread.join(SECONDS_MAX)
        assert not self.thread.is_alive(), "the job hangs"
        self.engine.stop()

    def read(self) -> int:
        return sum(unit.split is None for unit in self.engine.submitted)

    def checkpoints(self) -> int:
        """The newest one."""
        found = CheckpointStore(LocalStorage(self.place / "checkpoints")).read().records.get("x", ())
        return max((one.checkpoint for one in found), default=0)

    def state(self) -> str:
        return str([event for event in self.events if isinstance(event, TableChanged)][-1:])


@pytest.mark.parametrize("fails", [0.0, 0.02])
@pytest.mark.parametrize("retain", [Retain.ALWAYS, Retain.NEVER])
def test_a_stream_keeps_what_is_needed_and_no_more(tmp_path: Path, retain: Retain, fails: float) -> None:
    """Whatever restarts, no batch that anybody reads is gone; and what lies there does not grow with the stream."""
    with Stream(tmp_path, retain=retain, most=40 * SEGMENT_BYTES, fails=fails) as stream:
        wait_until(lambda: stream.checkpoints() >= 15 and stream.read() >= 600)
        written = sum(unit.split is not None for unit in stream.engine.submitted)
    assert stream.missing == []
    assert written > 150
    assert stream.largest < 100 * SEGMENT_BYTES, "as many as fit, and those of two looks"


def test_sources_pause_while_there_is_no_room_and_go_on_afterwards(tmp_path: Path) -> None:
    """Sinks that hang must not fill the disk."""
    stream = Stream(tmp_path, most=10 * SEGMENT_BYTES)
    stream.slow.set()
    with stream:
        wait_until(lambda: len(list(stream.exchange.iterdir())) > 10 or len(stream.engine.held) == 2)
        seen = sum(unit.split is not None for unit in stream.engine.submitted)
        assert seen <= 20
        stream.slow.clear()
        for unit in list(stream.engine.held.values()):
            del stream.engine.held[unit.id]
            stream.engine._say(unit.id, stream.engine.work(unit))
        wait_until(lambda: stream.read() > 200)
    assert stream.largest <= 40 * SEGMENT_BYTES


def test_a_job_without_checkpoints_is_not_limited(tmp_path: Path) -> None:
    """Seed 3363: only a checkpoint makes room, so its sources would wait for ever."""
    stream = Stream(tmp_path, retain=Retain.ALWAYS, most=3 * SEGMENT_BYTES, interval=None, rows=200)
    with stream:
        stream.thread.join(SECONDS_MAX)
        assert not stream.thread.is_alive(), "the sources wait for room"
    assert stream.largest > 10 * SEGMENT_BYTES
    assert "DONE" in stream.state()


def test_what_killed_drivers_left_is_removed_but_what_somebody_names(tmp_path: Path) -> None:
    """Half-written segments too; what a later driver has written is none of ours."""
    exchange, store = tmp_path / "exchange", CheckpointStore(LocalStorage(tmp_path / "checkpoints"))
    exchange.mkdir()
    names = ["1.a_1.e1.a1.segment", "1.a_2.e1.a1.segment", "1.a_3.e1.a1.segment", "1.a_4.e1.a1.segment.part"]
    for name in (*names, "3.a_1.e1.a1.segment", "of.nobody.segment", "packs"):
        (exchange / name).touch()
    store.take(2, "lineage")
    store.write(2, {"x": replace(record(str(exchange / names[0])), incarnation=2)})
    journal = Journal()
    journal.apply(
        taken_line(
            "x", Subtask("a"), TakenInput(1, None, 0, {"slices": [{"segment": f"file://{exchange}/{names[1]}"}]})
        )
    )

    sweep(exchange.as_uri(), 2, store.storage, journal)

    left = {path.name for path in exchange.iterdir()}
    assert left == {*names[:2], "3.a_1.e1.a1.segment", "of.nobody.segment", "packs"}


def test_nothing_is_removed_while_a_record_cannot_be_read(tmp_path: Path) -> None:
    """It may name anything."""
    store = CheckpointStore(LocalStorage(tmp_path))
    store.take(1, "lineage")
    store.write(1, {"x": replace(record(), version=2)})
    (tmp_path / "1.a_1.e1.a1.segment").touch()

    sweep(tmp_path.as_uri(), 1, store.storage, Journal())

    assert (tmp_path / "1.a_1.e1.a1.segment").exists()


@pytest.mark.parametrize("where", ["in doubt", "being stored", "nowhere"])
def test_a_segment_stays_for_a_record_that_may_be_in_the_store(where: str) -> None:
    """A later driver may start from it, and reads the batches of its channel state."""
    one = record("f-0")
    view = SimpleNamespace(
        pending=(),
        in_doubt=(one,) if where == "in doubt" else (),
        storing=one if where == "being stored" else None,
        requested=True,
    )
    removed: list[RemoveSegments] = []
    shared = SimpleNamespace(exchange_bytes=0)
    context = SimpleNamespace(shared=shared, settings=SimpleNamespace(exchange_max_bytes=10_000))
    state: Any = SimpleNamespace(view=view, context=context, participants={}, isolated=(), emit=removed.append, at=0.0)
    retention = SegmentRetention(state)
    retention.made([Slice("c", 1, TablePath.parse("x"), name, 0, 1, 300) for name in ("f-0", "f-1")])

    for _ in range(2):  # rule 2: a reference may be moving
        retention._due = True
        retention.scan_if_due()

    gone = set().union(*(one.urls for one in removed))
    assert gone == ({"f-0", "f-1"} if where == "nowhere" else {"f-1"})


def test_the_journal_of_a_stream_holds_what_lies_behind_its_newest_record(tmp_path: Path) -> None:
    """Of thousands of units a few: the rest is in the record."""
    with Stream(tmp_path) as stream:
        wait_until(lambda: stream.checkpoints() >= 10 and stream.read() >= 500)
        entries: Any = {key: len(mine) for key, mine in stream.driver._journal.journal.taken.items()}
        units = len(stream.engine.submitted)
    assert sum(entries.values()) < units / 2
