"""A job that goes on with another parallelism: nothing is read twice, nothing is left out, sums are kept."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_driver_late import wait_until

from seatunnel_py.api import Position, Split, TablePath
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.commit.claims import RestoreRefusal
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Edge, Spread, Topology, Vertex
from seatunnel_py.runtime.counts.row_tallies import RowTally, tally_of
from seatunnel_py.runtime.observe.events import JobEvent
from seatunnel_py.runtime.observe.receipt import TableReceipt, TableState
from seatunnel_py.runtime.resume.rescaling import rescaled
from seatunnel_py.runtime.values.retry_policy import RetryPolicy
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.runtime.values.split_progress import SplitProgress, SplitRound, assign_splits, reading_of
from seatunnel_py.runtime.values.subtask_state import State, state_of
from seatunnel_py.work.unit import Budget, Unit, UnitResult
from tests.kit.runtime_toys import Clock, ScriptedEngine, Target, ToySink, ToySource, driver_of, forked, straight

X = TablePath.parse("x")
UNIT_SECONDS = 0.004


def graph(parallelism: int) -> Topology:
    return Topology((Vertex("x", parallelism),))


def record_of(parallelism: int, states: Iterable[State], **more: Any) -> CheckpointRecord:
    topology = graph(parallelism)
    snapshots = {
        subtask: SubtaskSnapshot(state.to_plain(), **more)
        for subtask, state in zip(topology.subtasks(), states, strict=True)
    }
    return CheckpointRecord(4, 1, RecordKind.PERIODIC, 0, topology, {"x": 1}, snapshots)


def rounds_of(sizes: list[int]) -> tuple[SplitRound, ...]:
    return (SplitRound(tuple(Split(f"s{at}", X, rows=size) for at, size in enumerate(sizes))),)


def stands(record: CheckpointRecord, rounds: tuple[SplitRound, ...], *, bounded: bool) -> dict[str, Any]:
    """Of each split where it stands, as the subtask that reads it has it."""
    found: dict[str, Any] = {}
    subtasks = record.topology.subtasks()
    for subtask, hand in zip(subtasks, assign_splits(rounds, len(subtasks)), strict=True):
        reading = reading_of(state_of(record.snapshots[subtask].state).reading)
        left = [split.id for split in hand if split.id not in reading.ended]
        ended = {*reading.ended, *(left[: reading.finished] if bounded else ())}
        for split in hand:
            assert split.id not in found, "two subtasks read it"
            found[split.id] = "ended" if split.id in ended else reading.at.get(split.id)
    return found


@given(
    sizes=st.lists(st.integers(1, 50), min_size=1, max_size=12),
    widths=st.lists(st.integers(1, 6), min_size=2, max_size=4),
    bounded=st.booleans(),
    data=st.data(),
)
def test_every_split_stands_where_it_stood(
    sizes: list[int], widths: list[int], bounded: bool, data: st.DataObject
) -> None:
    """I41, I45: whatever the order of parallelisms; and the sum of what was read is what it was."""
    rounds = rounds_of(sizes)
    states = []
    for hand in assign_splits(rounds, widths[0]):
        done = data.draw(st.integers(0, len(hand)))
        at = {split.id: Position({"n": 1}) for split in hand[done : done + 1]}
        reading = (
            SplitProgress(done, (), at) if bounded else SplitProgress(0, tuple(split.id for split in hand[:done]), at)
        )
        states.append(State(reading.to_plain(), RowTally(read=done).to_plain()))
    record = record_of(widths[0], states)
    before = stands(record, rounds, bounded=bounded)
    read = sum(tally_of(state.tally).read for state in states)
    for width in widths[1:]:
        found = rescaled(record, graph(width), {"x": rounds}, () if bounded else ("x",))
        assert isinstance(found, CheckpointRecord)
        record = found
        assert stands(record, rounds, bounded=bounded) == before
        after = [tally_of(state_of(one.state).tally).read for one in record.snapshots.values()]
        assert sum(after) == read


def test_the_same_parallelism_changes_nothing() -> None:
    record = record_of(2, [State(), State()])
    assert rescaled(record, graph(2), {"x": rounds_of([1, 2])}, ()) is record


def test_what_a_query_has_gathered_cannot_be_told_apart() -> None:
    """Its rows and the ends of its senders are known by sender: it is refused, by name."""

    def topology(parallelism: int) -> Topology:
        return Topology((Vertex("x", parallelism), Vertex("q")), (Edge("x", "q", Spread.KEYED),))

    old = topology(2)
    states = {"x": State(), "q": State(gathered=({"segment": "s"},))}
    snapshots = {one: SubtaskSnapshot(states[one.vertex].to_plain()) for one in old.subtasks()}
    record = CheckpointRecord(4, 1, RecordKind.PERIODIC, 0, old, {}, snapshots)
    refused = rescaled(record, topology(3), {"x": rounds_of([1])}, ())

    assert isinstance(refused, RestoreRefusal) and "q has gathered rows" in refused.why


# ---------------------------------------------------------------- whole drivers


class NamingEngine(ScriptedEngine):
    """Units of different drivers may have one id: what they give bears the driver's number, too."""

    def __init__(self, pipeline: Pipeline, driver: int) -> None:
        super().__init__([pipeline])
        self.driver = driver

    def work(self, unit: Unit) -> UnitResult:
        result, name = super().work(unit), f"{self.driver}:{unit.id}"
        pieces = tuple(replace(one, piece=replace(one.piece, data={"unit": name})) for one in result.pieces)
        return replace(result, pieces=pieces, slices=tuple(replace(one, segment=name) for one in result.slices))


class Run:
    """One driver over a job, and the rows that became visible by it: source row by source row, for each sink."""

    def __init__(self, pipeline: Pipeline, place: Path, number: int = 0) -> None:
        self.engine = NamingEngine(pipeline, number)
        self.events: list[JobEvent] = []
        checkpoints = CheckpointSettings(interval=0.02)
        settings = Settings(RetryPolicy(3, 0.01), Budget(10, 1.0), exchange="mem:", checkpoint=checkpoints)
        self.driver = driver_of([pipeline], self.engine, settings, Clock(), self.events.append, place)
        self.receipts: tuple[TableReceipt, ...] = ()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        self.receipts = self.driver.run()

    def until_committed(self, target: Target, checkpoints: int = 1) -> None:
        """Until so many are committed, and some units more; then it hangs, as a driver that was killed."""
        enough, more = target.told.count("commit") + checkpoints, iter(range(5))

        def script(unit: Unit) -> UnitResult | None:
            time.sleep(UNIT_SECONDS)  # so that checkpoints come between units
            if target.told.count("commit") >= enough and next(more, None) is None:
                return None
            return self.engine.work(unit)

        self.engine.script = script
        self.thread.start()
        wait_until(lambda: self.engine.held)

    def to_the_end(self) -> None:
        self.thread.start()
        self.thread.join(20)
        assert not self.thread.is_alive(), "the job hangs"


def rows_of(runs: list[Run], target: Target) -> Counter[tuple[str, int]]:
    """The rows behind the pieces that were committed, by split and number. A commit that is repeated by the next driver
    counts once, as in a ledger."""
    units: dict[str, Unit] = {}
    for run in runs:
        units |= {f"{run.engine.driver}:{unit.id}": unit for unit in run.engine.submitted}
    found: Counter[tuple[str, int]] = Counter()
    for name in dict.fromkeys(str(piece.data["unit"]) for piece in target.committed):
        unit = units[name]
        sources = [unit] if unit.split else [units[slice_.segment] for slice_ in unit.slices]
        for source in sources:
            assert source.split is not None and source.split.rows is not None
            start = int(str(source.start.value["n"])) if source.start else 0
            found.update((source.split.id, row) for row in range(start, min(start + 10, source.split.rows)))
    return found


Made = Callable[[int, ToySource, list[ToySink]], Pipeline]
SHAPES: dict[str, Made] = {
    "a chain": lambda width, source, sinks: straight("x", source, sinks[0], width),
    "a fan-out": lambda width, source, sinks: forked("x", source, sinks, width),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("widths", [(1, 4, 2), (4, 1, 3), (2, 4, 2)])
def test_rows_arrive_once_whatever_the_parallelism_of_each_driver(
    tmp_path: Path, shape: str, widths: tuple[int, int, int]
) -> None:
    """Killed, gone on with another parallelism, killed, and with a third one to the end."""
    source = ToySource((295, 140, 270, 125, 160))
    targets = [Target(), Target()]
    runs: list[Run] = []
    for number, width in enumerate(widths):
        pipeline = SHAPES[shape](width, source, [ToySink(f"out{at}", one) for at, one in enumerate(targets)])
        runs.append(Run(pipeline, tmp_path, number))
        if number < len(widths) - 1:
            runs[-1].until_committed(targets[0])
        else:
            runs[-1].to_the_end()

    (receipt,) = runs[-1].receipts
    wanted = Counter((f"s{split}", row) for split, rows in enumerate(source.rows) for row in range(rows))
    used = targets if shape == "a fan-out" else targets[:1]
    assert receipt.state is TableState.DONE
    assert receipt.rows_read == sum(source.rows)
    for target in used:
        assert rows_of(runs, target) == wanted
        assert target.told.count("setup") == 1
    for run in runs[:-1]:
        run.driver.stop()


def test_numbers_of_batches_begin_anew_under_another_name(tmp_path: Path) -> None:
    """A target that keeps the names of units must not take a new batch 1 for the old one; and a third driver of the
    same parallelism goes on under the name of the second."""
    names: list[set[str]] = []
    runs = []
    target = Target()
    for width in (1, 2, 2):
        run = Run(forked("x", ToySource((600, 600)), [ToySink("out", target)], width), tmp_path)
        runs.append(run)
        run.until_committed(target)
        names.append({unit.data_id.rpartition(":")[0] for unit in run.engine.submitted if unit.slices})

    assert not names[0] & names[1]
    assert names[2] <= names[1]
    for run in runs:
        run.driver.stop()


def test_an_empty_round_is_no_split() -> None:
    """A source that has found nothing yet is dealt out all the same."""
    record = record_of(1, [State(tally=RowTally(3).to_plain())])
    found = rescaled(record, graph(3), {"x": (SplitRound(()),)}, ("x",))

    assert isinstance(found, CheckpointRecord)
    assert [tally_of(state_of(one.state).tally).read for one in found.snapshots.values()] == [3, 0, 0]
    assert replace(found, snapshots={}) == replace(record, snapshots={}, topology=replace(graph(3), version=2))
