"""Checkers of how a driver starts and goes on: I45, set-up units, positions that are void, what can be read only once."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.topology import SinkKind, Topology, VertexDeterminism
from seatunnel_py.protocol.participant import messages as task
from tests.simulation.checks.checker import Checker
from tests.simulation.checks.states import positions_of, read_in, written_in
from tests.simulation.jobs.targets import Answer, SimulatedLedger

if TYPE_CHECKING:
    from tests.simulation.checks.drivers import Driver, Node
    from tests.simulation.checks.line import Line


class I45RescaledWhole(Checker):
    """New subtask states hold the splits of the old ones, and nothing waits on a channel that changes."""

    after: ClassVar = {"driver": "adapted"}

    def adapted(self, driver: Driver) -> None:
        old, new = driver.machine.context.past.record, driver.record
        if old is None or new is None or _widths(old.topology) == _widths(new.topology):
            return
        if self.line.follows:
            return  # other tables, and not another parallelism (I42)
        self.count("a record was restored into another parallelism")
        self.expect(new.uncommitted == old.uncommitted, "commits of the old graph are missing")
        if not old.snapshots:
            return
        self.expect(not self._queued_on_changed(old, new), f"checkpoint {old.checkpoint} has rows on channels")
        bounded = driver.machine.context.bounded
        for vertex in set(new.topology.live):
            before = [old.snapshots[one] for one in old.topology.subtasks([vertex])]
            after = [new.snapshots[one] for one in new.topology.subtasks([vertex])]
            self.expect(not any(one.pieces for one in after), f"{vertex} names pieces of the old graph")
            for what in (read_in, lambda state: sum(written_in(state).values())):
                counts = [sum(what(one.state) for one in each) for each in (before, after)]
                self.expect(counts[0] == counts[1], f"{vertex} has counted {counts[0]} rows, and now {counts[1]}")
            if vertex in new.topology.sources:
                were, are = (self._splits(one, vertex, bounded=bounded) for one in (old, new))
                self.expect(were == are, f"{vertex}: splits {were} became {are}")
            if len(before) != len(after):
                self.expect(
                    all(one.taken >= max(each.taken for each in before) for one in after),
                    f"{vertex} counts its units anew",
                )
                ended = all(one.ended for one in before) or not any(one.ended for one in after)
                self.expect(ended, f"a subtask of {vertex} has ended, though not all before it had")

    def _splits(self, record: CheckpointRecord, vertex: str, *, bounded: bool) -> list[tuple[str, int]]:
        topology = record.topology
        return sorted(
            place
            for one in topology.subtasks([vertex])
            for place in positions_of(topology, record.plan, one, record.snapshots[one].state, bounded=bounded).items()
        )

    def _queued_on_changed(self, old: CheckpointRecord, new: CheckpointRecord) -> bool:
        before, after = _widths(old.topology), _widths(new.topology)
        changed = {name for name in before if before[name] != after[name]}
        return any(
            waiting
            for snapshot in old.snapshots.values()
            for channel, waiting in snapshot.channel_state.items()
            if {channel.sender.vertex, channel.receiver.vertex} & changed
        )


def _widths(topology: Topology) -> dict[str, int]:
    return {vertex.id: vertex.parallelism for vertex in topology.vertices}


class SetUpOnce(Checker):
    """Start effects come behind checkpoint 0 and before any row; what has a done record is not done again."""

    after: ClassVar = {
        order.SetUp: "asked",
        "set up": "performed",
        task.RunUnit: "unit",
        "anew": "anew",
        "end": "end",
    }

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self.rows = False

    def asked(self, driver: Driver, node: None, command: order.SetUp) -> None:
        there = command.checkpoint in self.line.ever
        self.expect(there, f"start effects of {command.unit} come before checkpoint 0")
        if self.line.current(driver):
            again = command.unit in self.line.done
            self.expect(not again, f"the start effects of {command.unit} are asked for again")
            self.count("start effects were asked for")

    def performed(self, node: str, ledger: SimulatedLedger) -> None:
        self.expect(not self.rows, f"rows flow, and start effects of {node} are performed")
        if ledger.told.count("setup") > 1:
            self.count("start effects were performed again")

    def unit(self, driver: Driver, node: Node, command: task.RunUnit) -> None:
        if not self.line.current(driver) or self.line.before is not None:
            return
        self.rows = True
        held = driver.record.set_up if driver.record is not None else frozenset()
        if self.line.follows:
            held |= driver.done  # sinks of tables that join are set up as it begins
        missing = set(driver.set_up) - self.line.done - held
        self.expect(not missing, f"{node.name} works before the start effects of {sorted(missing)} are done")

    def anew(self, driver: Driver) -> None:
        self.rows = False

    def end(self) -> None:
        begun = self.line.before is None and self.line.succeeded is not None and self.line.job.followed is None
        for name, ledger in self.line.targets.items() if begun else ():
            self.expect("setup" in ledger.told, f"{name} never had its start effects")


class VoidPositions(Checker):
    """Void positions are worth nothing: a pipeline begins anew only where none of its rows are visible, and no later
    record holds a position from before."""

    after: ClassVar = {"anew": "anew", "stored": "stored"}

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self.epochs: dict[str, int] = {}

    def anew(self, driver: Driver) -> None:
        if not self.line.ever:
            return
        self.count("a pipeline began anew")
        self.epochs = dict(driver.machine.context.past.epochs)
        once = SinkKind.TWO_PHASE
        shown = {
            target.node
            for scope, targets in driver.targets().items()
            for target in targets
            if target.ledger.commits
            and all(
                one.sink is once
                for one in driver.whole.vertices
                if one.commit_scope == scope and one.sink is not SinkKind.NONE
            )
        }
        self.expect(not shown, f"everything begins anew, though rows are visible in {sorted(shown)}")

    def stored(self, driver: Driver, record: CheckpointRecord, answer: Answer) -> None:
        if answer is not Answer.DONE:
            return
        if record.kind is RecordKind.ZERO:
            self.facts.zeros.append(record.checkpoint)
            return
        zero = max(self.facts.zeros)
        wrong = {at.vertex for at, one in record.snapshots.items() if one.since < zero}
        wrong |= {name for name in record.topology.live if record.epochs[name] <= self.epochs.get(name, -1)}
        self.expect(not wrong, f"checkpoint {record.checkpoint} holds positions of {sorted(wrong)} that are void")


class LostOnlyIfUnkept(Checker):
    """Rows that cannot be read again are lost only where no channel keeps them, or everything begins anew (FO4), also
    if the driver of the new beginning dies before its first checkpoint."""

    after: ClassVar = {"lost": "lost", "anew": "anew", "stored": "stored"}

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self.begun_anew = False

    def anew(self, driver: Driver) -> None:
        self.begun_anew = bool(self.line.ever)

    def stored(self, driver: Driver, record: CheckpointRecord, answer: Answer) -> None:
        if answer is Answer.DONE and record.kind is not RecordKind.ZERO:
            self.begun_anew = False

    def lost(self, driver: Driver, node: Node) -> None:
        vertex = driver.topology.vertex(node.subtask.vertex)
        kept = all(edge.retained for edge in driver.topology.edges if edge.sender == vertex.id)
        other = (
            vertex.determinism is VertexDeterminism.INDETERMINATE
            or driver.anew
            or self.begun_anew
            or self.world.lied
            or not driver.replay
        )
        self.expect(other or not kept, f"rows of {node.name} are lost, though they are retained")
        self.count("rows of a source that can be read only once were lost")


CHECKERS = (I45RescaledWhole, SetUpOnce, VoidPositions, LostOnlyIfUnkept)
