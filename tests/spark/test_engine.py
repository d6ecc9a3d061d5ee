"""The engine on a real Spark: whatever happens to a worker, every unit ends in one event."""

from __future__ import annotations

import os
import queue
import re
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from toys import Numbers, Workers, chain, unit, written

from seatunnel_py.runtime.messages.engine_port import EngineEvent, UnitFinished, UnitLost, UnitStarted
from seatunnel_py.spark.app.session import SparkApplication
from seatunnel_py.spark.packs.engine import SparkEngine
from seatunnel_py.work.unit import FailureKind, Unit, UnitId, UnitResult

pytestmark = pytest.mark.spark

WAIT_SECONDS_MAX = 120.0


class Harness:
    """An engine, and the events of its units by unit id."""

    def __init__(self, spark: SparkApplication, journals: Path, slots: int = 2, *, staying: bool) -> None:
        self.engine = SparkEngine(spark.context, slots, journals, staying=staying)
        self.events: queue.Queue[EngineEvent] = queue.Queue()
        self.engine.start(self.events.put)

    def submit(self, source: Numbers | Workers, out: Path, **more: Any) -> Unit:
        self.engine.register(chain(source, out))
        submitted = unit(source, **more)
        self.engine.submit(submitted)
        return submitted

    def ends(self, count: int) -> dict[UnitId, UnitResult | str]:
        """Wait for so many units to end: each one's result, or why it was lost."""
        ended: dict[UnitId, UnitResult | str] = {}
        while len(ended) < count:
            match self.events.get(timeout=WAIT_SECONDS_MAX):
                case UnitFinished(result):
                    assert result.id not in ended
                    ended[result.id] = result
                case UnitLost(lost, reason):
                    assert lost not in ended
                    ended[lost] = reason
        return ended

    def started(self, wanted: UnitId) -> None:
        while self.events.get(timeout=WAIT_SECONDS_MAX) != UnitStarted(wanted):
            pass


@pytest.fixture(params=[False, True], ids=["a job each", "workers stay"])
def harness(spark: SparkApplication, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Harness]:
    made = Harness(spark, tmp_path / "exchange", staying=request.param)
    yield made
    made.engine.stop()


@pytest.fixture
def staying(spark: SparkApplication, tmp_path: Path) -> Iterator[Harness]:
    made = Harness(spark, tmp_path / "exchange", staying=True)
    yield made
    made.engine.stop()


def seen(ended: UnitResult | str) -> UnitResult:
    assert isinstance(ended, UnitResult), ended
    return ended


def test_many_small_tables_take_few_jobs(harness: Harness, tmp_path: Path, spark: SparkApplication) -> None:
    """Two hundred units end with their rows, in packs."""
    for number in range(200):
        harness.submit(Numbers(f"t{number}", rows=10), tmp_path / "out", cost_seconds=0.01)
    ended = harness.ends(200)

    assert {seen(result).rows for result in ended.values()} == {10}
    assert len(written(tmp_path / "out")) == 2000
    assert harness.engine._packs < 40


def test_a_failure_is_a_result(harness: Harness, tmp_path: Path) -> None:
    """An exception in a plugin costs its unit and nothing else: the pack's other units go on."""
    harness.submit(Numbers("good", rows=10), tmp_path / "out", cost_seconds=0.01)
    bad = harness.submit(Numbers("bad", act="retriable"), tmp_path / "out", cost_seconds=0.01)
    harness.submit(Numbers("later", rows=10), tmp_path / "out", cost_seconds=0.01)
    ended = harness.ends(3)

    failure = seen(ended[bad.id]).failure
    assert failure is not None
    assert (failure.kind, failure.message, failure.remedy) == (FailureKind.RETRIABLE, "the connection was lost", "wait")
    assert len(written(tmp_path / "out")) == 20


def test_a_killed_worker_costs_only_its_unfinished_units(harness: Harness, tmp_path: Path) -> None:
    """kill -9 inside a unit: what the pack had finished counts, the rest runs elsewhere, every row arrives once."""
    killer = Numbers("killer", rows=10, act="kill", once=str(tmp_path / "killed"))
    sources = [Numbers(f"a{n}", rows=10) for n in range(20)] + [killer] + [Numbers(f"b{n}", rows=10) for n in range(20)]
    units = {unit(source).id: replace(unit(source), cost_seconds=0.02) for source in sources}
    for source in sources:
        harness.engine.register(chain(source, tmp_path / "out"))
    for item in units.values():
        harness.engine.submit(item)
    ended = harness.ends(len(units))
    lost = {item: reason for item, reason in ended.items() if isinstance(reason, str)}
    for item in lost:
        harness.engine.submit(replace(units[item], id=replace(item, attempt=1)))
    again = harness.ends(len(lost))

    assert lost[unit(killer).id] == "the worker process died while this unit ran"
    others = {reason for item, reason in lost.items() if item.vertex != "killer"}
    assert others <= {"the worker process died before this unit began"}
    assert len(lost) < len(units) / 2
    assert all(seen(result).failure is None for result in again.values())
    assert written(tmp_path / "out") == sorted(list(range(10)) * 41)


def test_other_packs_do_not_notice_a_killed_worker(harness: Harness, tmp_path: Path) -> None:
    """A pack of another table runs in its own job and its own process."""
    steady = harness.submit(
        Numbers("steady", rows=10, act="sleep", seconds=2.0, once=str(tmp_path / "slept")), tmp_path, cost_seconds=5.0
    )
    killer = harness.submit(Numbers("killer", rows=10, act="kill"), tmp_path, cost_seconds=5.0)
    ended = harness.ends(2)

    assert ended[killer.id] == "the worker process died while this unit ran"
    assert seen(ended[steady.id]).rows == 10
    assert steady.id.attempt == 0


def test_a_unit_that_misses_its_deadline_is_ended(harness: Harness, tmp_path: Path) -> None:
    """A hanging call cannot be interrupted: the process goes, and the result says why."""
    late = harness.submit(
        Numbers("late", rows=10, act="sleep", seconds=600.0), tmp_path, cost_seconds=5.0, deadline_seconds=1.0
    )
    result = seen(harness.ends(1)[late.id])

    assert result.failure is not None
    assert result.failure.kind is FailureKind.DEADLINE
    assert "not done after 1 s" in result.failure.message
    assert written(tmp_path / "out") == []


def test_a_cancelled_unit_ends_early(harness: Harness, tmp_path: Path) -> None:
    """One that waits never starts; one that runs is stopped; both end in an event."""
    hold = Numbers("hold", rows=1000, batch=1, act="sleep", seconds=0.05)
    running = harness.submit(hold, tmp_path / "out", cost_seconds=5.0)
    harness.started(running.id)
    began = time.monotonic()
    harness.engine.cancel(running.id)
    ended = harness.ends(1)

    assert ended[running.id] in (
        "the pack was cancelled while this unit ran",
        "the pack was cancelled before this unit began",
    )
    assert time.monotonic() - began < 10.0
    assert written(tmp_path / "out") == []


def test_others_of_a_cancelled_pack_are_not_to_blame(harness: Harness, tmp_path: Path) -> None:
    """P1: they are lost as well, and their driver is told that nothing was wrong with them."""
    hold = harness.submit(Numbers("hold", rows=1000, batch=1, act="sleep", seconds=0.05), tmp_path / "out")
    harness.started(hold.id)
    harness.engine.cancel(hold.id)
    while True:
        match harness.events.get(timeout=WAIT_SECONDS_MAX):
            case UnitLost(_, _, cancelled):
                assert cancelled
                break

    killed = harness.submit(Numbers("killed", rows=10, act="kill"), tmp_path / "out")
    while True:
        match harness.events.get(timeout=WAIT_SECONDS_MAX):
            case UnitLost(lost, _, cancelled):
                assert (lost, cancelled) == (killed.id, False), "a worker that died is another matter"
                break


def test_a_result_does_not_wait_for_its_pack(staying: Harness, tmp_path: Path) -> None:
    """A table that is done is told of while the next one of its pack takes its time."""
    hold = Numbers("hold", rows=10, act="sleep", seconds=4.0)
    sources = [Numbers("quick", rows=10), hold]
    for source in sources:
        staying.engine.register(chain(source, tmp_path / "out"))
    with staying.engine._changed:  # so that one pack takes both
        for source in sources:
            staying.engine._queue.put(replace(unit(source), cost_seconds=0.01))
        staying.engine._changed.notify()
    (first,) = staying.ends(1)
    told = time.monotonic()
    (second,) = staying.ends(1)

    assert (first.vertex, second.vertex) == ("quick", "hold")
    assert time.monotonic() - told > 2.0


def test_a_worker_that_dies_while_it_waits_costs_nothing(staying: Harness, tmp_path: Path) -> None:
    """Another one is there for the next pack, whose units do not notice."""
    for number in range(3):
        submitted = staying.submit(Workers(f"t{number}", str(tmp_path / "pids")), tmp_path / "out")
        assert seen(staying.ends(1)[submitted.id]).failure is None
        for pid in (tmp_path / "pids").read_text().split()[number:]:
            os.kill(int(pid), signal.SIGKILL)
            gone(int(pid))

    assert len(set((tmp_path / "pids").read_text().split())) == 3


def test_workers_stay(staying: Harness, tmp_path: Path, spark: SparkApplication) -> None:
    """A hundred packs, one after the other, are run by as many processes as there are slots."""
    for number in range(100):
        submitted = staying.submit(Workers(f"t{number}", str(tmp_path / "pids")), tmp_path / "out")
        assert seen(staying.ends(1)[submitted.id]).failure is None

    assert len(set((tmp_path / "pids").read_text().split())) <= 2
    assert staying.engine._packs == 100


def test_a_slot_without_a_core_takes_no_pack(spark: SparkApplication, tmp_path: Path) -> None:
    """Where Spark gives fewer workers than there are slots, those that are there do all, also when one of them dies;
    and the end does not wait for the others."""
    crowded = Harness(spark, tmp_path / "exchange", slots=4, staying=True)
    killer = Numbers("killer", rows=10, act="kill", once=str(tmp_path / "killed"))
    lost = crowded.submit(killer, tmp_path / "out", cost_seconds=5.0)
    assert crowded.ends(1)[lost.id] == "the worker process died while this unit ran"
    for number in range(10):
        crowded.submit(Numbers(f"t{number}", rows=10), tmp_path / "out", cost_seconds=5.0)
    assert all(seen(result).failure is None for result in crowded.ends(10).values())

    began = time.monotonic()
    crowded.engine.stop()
    assert time.monotonic() - began < 5.0


def gone(pid: int) -> None:
    """The process is no more: its lines are cut."""
    end = time.monotonic() + WAIT_SECONDS_MAX
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_stopping_ends_every_unit_and_leaves_no_files(harness: Harness, tmp_path: Path) -> None:
    """Every submitted unit ends in one event, also at the end; the journals are gone; a second stop does nothing."""
    for number in range(6):
        source = Numbers(f"t{number}", rows=1000, batch=1, act="sleep", seconds=0.05)
        harness.submit(source, tmp_path / "out", cost_seconds=5.0)
    harness.engine.stop()
    harness.engine.stop()
    late = harness.submit(Numbers("late"), tmp_path / "out")

    ended = harness.ends(7)
    assert all(isinstance(reason, str) for reason in ended.values())
    assert ended[late.id] == "the engine was stopped"
    assert list((tmp_path / "exchange").iterdir()) == []


def test_what_killed_drivers_left_is_taken_away(harness: Harness, tmp_path: Path, spark: SparkApplication) -> None:
    """Their packs and the probe's files, nothing else; and a driver that begins late costs a living one nothing."""
    exchange = tmp_path / "exchange"
    (exchange / "packs-of-another").mkdir(parents=True)
    for name in ("packs-of-another/1.journal", "probe-1", "1.a_1.e1.a1.segment"):
        (exchange / name).touch()

    late = SparkEngine(spark.context, 2, exchange)
    late.start(harness.events.put)
    late.stop()

    assert [path.name for path in exchange.iterdir()] == ["1.a_1.e1.a1.segment"]
    submitted = harness.submit(Numbers("t", rows=10), tmp_path / "out")
    assert seen(harness.ends(1)[submitted.id]).failure is None


@pytest.mark.parametrize("ended", [False, True])
def test_a_driver_whose_job_goes_on_elsewhere_waits_for_nothing(harness: Harness, tmp_path: Path, ended: bool) -> None:
    """Another driver has cleared up behind it, or has ended the job: its units are done or lost, one by one."""
    for path in [tmp_path / "exchange"] if ended else list((tmp_path / "exchange").glob("packs-*")):
        shutil.rmtree(path)

    for number in range(5):  # more than the engine has threads
        submitted = harness.submit(Numbers(f"t{number}", rows=10), tmp_path / "out")
        result = harness.ends(1)[submitted.id]
        assert isinstance(result, str) == ended, result


def test_a_chain_that_cannot_be_sent_fails_its_units(harness: Harness, tmp_path: Path) -> None:
    """An open file in a plugin is the plugin's fault: a fatal result that says so, not a lost worker."""
    source = Numbers("held", rows=10)
    with (tmp_path / "open").open("w") as handle:
        harness.engine.register(replace(chain(source, tmp_path), lineage=handle))
        harness.engine.submit(unit(source))
        result = seen(harness.ends(1)[unit(source).id])

    assert result.failure is not None
    assert result.failure.kind is FailureKind.FATAL
    assert "held cannot be sent to a worker: TypeError" in result.failure.message


def test_secrets_stay_out_of_files(harness: Harness, tmp_path: Path, spark: SparkApplication) -> None:
    """What a chain holds is in no file of Spark's and in no journal, however large the pack's payload is."""
    canary = "c4n4ry-" + "x" * 2_000_000
    source = Numbers("secret", rows=40, batch=10, act="sleep", seconds=0.5)
    harness.engine.register(chain(source, tmp_path / "out", password=canary))
    harness.engine.submit(unit(source))
    harness.started(unit(source).id)
    local = spark.context._jsc.sc().conf().get("spark.local.dir")
    found: set[str] = set()
    while not (tmp_path / "out").exists():
        for place in (Path(local), tmp_path / "exchange"):
            found |= {str(path) for path in place.rglob("*") if path.is_file() and holds(path)}
        time.sleep(0.05)

    assert seen(harness.ends(1)[unit(source).id]).rows == 40
    assert found == set()


def holds(path: Path) -> bool:
    try:
        return re.search(rb"c4n4ry", path.read_bytes()) is not None
    except FileNotFoundError:
        return False
