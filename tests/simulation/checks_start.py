"""Checkers of how a driver starts and goes on: I45, set-up units, positions that are void, what can be read only once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_py.protocol.commit.claims import RestoreRefusal
from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.failover.restore import subtask_of
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Topology, VertexDeterminism
from seatunnel_py.protocol.participant import messages as task
from tests.simulation.checker import Checker
from tests.simulation.storage import Answer

if TYPE_CHECKING:
    from tests.simulation.driver import Driver, Node
    from tests.simulation.starts import Reading


class I17StoreIsBelieved(Checker):
    """A driver that sees the newest record damaged, or not at all though anybody has heard of it, does not start."""

    after: ClassVar = {"read": "read"}

    def read(self, reading: Reading, claim: Any, completed: int) -> None:
        refused = isinstance(claim, RestoreRefusal)
        if reading.hidden is None:
            self.expect(not refused, f"a start from a whole store is refused: {claim}")
            return
        number = reading.hidden.checkpoint
        if reading.damaged:
            self.world.count("a damaged record was noticed")
            self.expect(refused, f"a driver goes on from {claim}, though checkpoint {number} is damaged")
        elif completed >= number > 0:
            self.world.count("a missing record was noticed")
            self.expect(refused, f"a driver goes on from {claim}, though checkpoint {number} was completed")


class I45RescaledWhole(Checker):
    """New subtask states partition the old ones, nothing waits on a channel that changes, and refusals have a reason."""

    after: ClassVar = {"adapted": "adapted"}

    def adapted(self, record: CheckpointRecord, topology: Topology, found: Any) -> None:
        if isinstance(found, RestoreRefusal):
            self.expect(self._unsettled(record), f"checkpoint {record.checkpoint} is refused: {found.why}")
            return
        self.expect(found.uncommitted == record.uncommitted, "commits of the old graph are missing")
        if record.kind is RecordKind.ZERO:
            return
        self.expect(
            not self._queued_on_changed(record, topology), f"checkpoint {record.checkpoint} has rows on channels"
        )
        for vertex in topology.by_id:
            old = [record.snapshots[subtask].state for subtask in record.topology.subtasks([vertex])]
            new = [found.snapshots[subtask].state for subtask in topology.subtasks([vertex])]
            if vertex in topology.sources:
                self.expect(self._splits(old) == self._splits(new), f"{vertex}: splits {old} became {new}")
            else:
                self.groups(vertex, old, new, keyed=len(old) != len(new))
        for subtask in topology.subtasks():
            snapshot: SubtaskSnapshot = found.snapshots[subtask]
            self.expect(not snapshot.pieces, f"{subtask} names pieces of the old graph")
            before = [record.snapshots[one] for one in record.topology.subtasks([subtask.vertex])]
            if len(before) != topology.vertex(subtask.vertex).parallelism:
                self.expect(snapshot.taken >= max(one.taken for one in before), f"{subtask} counts its units anew")
                ended = not snapshot.ended or all(one.ended for one in before)
                self.expect(ended, f"{subtask} has ended, though not all before it had")

    def groups(self, vertex: str, old: list[Any], new: list[Any], *, keyed: bool) -> None:
        held = [(name, value) for state in old for name, value in (state or {}).items()]
        moved = [(name, value) for state in new for name, value in (state or {}).items()]
        self.expect(sorted(held) == sorted(moved), f"{vertex}: {held} became {moved}")
        for at, state in enumerate(new) if keyed else ():
            wrong = [name for name in state or () if subtask_of(int(name), len(new)) != at]
            self.expect(not wrong, f"{vertex}[{at}] holds key groups {wrong}, whose rows go elsewhere")

    def _splits(self, states: list[Any]) -> list[Any]:
        return sorted(
            (split, kind, state[kind][split] if kind == "assigned" else None)
            for state in states
            for kind in ("assigned", "unassigned", "finished")
            for split in (state or {kind: ()})[kind]
        )

    def _unsettled(self, record: CheckpointRecord) -> bool:
        """Something waits on a channel, or a receiver is ahead of its sender, or a reader is silent about its splits."""
        for channel in record.topology.channels:
            receiver, sent = record.snapshots[channel.receiver], record.snapshots[channel.sender].sent.get(channel, 0)
            if receiver.channel_state.get(channel) or receiver.applied.get(channel, 0) != sent:
                return True
        states = [
            [one.state for at, one in record.snapshots.items() if at.vertex == name] for name in record.topology.sources
        ]
        return any(None in every and any(every) for every in states)

    def _queued_on_changed(self, record: CheckpointRecord, topology: Topology) -> bool:
        changed = {
            vertex.id
            for vertex in topology.vertices
            if vertex.parallelism != record.topology.vertex(vertex.id).parallelism
        }
        return any(
            waiting
            for snapshot in record.snapshots.values()
            for channel, waiting in snapshot.channel_state.items()
            if {channel.sender.vertex, channel.receiver.vertex} & changed
        )


class SetUpOnce(Checker):
    """Start effects come behind checkpoint 0 and before any row; what has a done record is not done again."""

    after: ClassVar = {order.SetUp: "asked", "set up": "performed", task.RunUnit: "unit", "end": "end"}

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.rows = False

    def asked(self, driver: Driver, node: None, command: order.SetUp) -> None:
        store = self.world.store
        self.expect(command.checkpoint in store.ever, f"start effects of {command.unit} come before checkpoint 0")
        if driver is self.world.newest:
            self.expect(command.unit not in store.done, f"the start effects of {command.unit} are asked for again")
            self.world.count("start effects were asked for")

    def performed(self, driver: Driver, command: order.SetUp, number: int) -> None:
        self.expect(not self.rows, f"rows flow, and {driver.name} performs start effects of {command.unit}")
        if number == 0 and command.unit in self.world.store.intents:
            self.world.count("start effects were performed again")

    def unit(self, driver: Driver, node: Node, command: task.RunUnit) -> None:
        self.rows = True
        missing = set(driver.pipeline.set_up) - self.world.store.done
        self.expect(not missing, f"{node.name} works before the start effects of {sorted(missing)} are done")

    def end(self) -> None:
        for name in self.world.pipeline.set_up:
            self.expect(self.world.targets[name].emptied >= 1, f"{name} never had its start effects")


class VoidPositions(Checker):
    """Void positions are worth nothing: everything begins anew, or the pipeline ends where rows of them may be seen."""

    after: ClassVar = {
        report.PositionsVoid: "said", report.Persisted: "answered", report.PersistFailed: "answered", "stored": "stored",
    }  # fmt: skip

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.waits: dict[int, int] = {}
        """Records that were in the store's hands when positions became void, by incarnation (BE6)."""
        self.epochs: dict[int, dict[str, int]] = {}
        """Of lives whose positions are void, by incarnation."""
        self.zeros = [0]
        """Checkpoints 0: a snapshot that names pieces since a checkpoint before the newest one was made before it."""

    def said(self, driver: Driver, node: None, event: Any, commands: tuple[Any, ...]) -> None:
        known = self.facts.known[driver.incarnation]
        self.epochs[driver.incarnation] = {subtask.vertex: epoch for subtask, epoch in known.epochs.items()}
        shared = driver.coordinator.shared
        zero = [one for one in commands if type(one) is order.Persist and one.record.kind is RecordKind.ZERO]
        if shared.storing is not None and not zero:
            self.waits[driver.incarnation] = shared.storing.checkpoint
        elif not shared.kept:
            self.something_is_done(driver, commands)

    def answered(self, driver: Driver, node: None, event: Any, commands: tuple[Any, ...]) -> None:
        if self.waits.get(driver.incarnation) == event.checkpoint and not driver.coordinator.shared.kept:
            self.something_is_done(driver, commands)

    def something_is_done(self, driver: Driver, commands: tuple[Any, ...]) -> None:
        zero = [one for one in commands if type(one) is order.Persist and one.record.kind is RecordKind.ZERO]
        ends = [one for one in commands if type(one) is order.PipelineEnded]
        seen = sorted(name for name, target in self.world.targets.items() if target.committed)
        self.expect(not (zero and seen), f"everything begins anew, though rows are visible in {seen}")
        self.expect(bool(zero or ends or driver.ended), "positions are void, and nothing is done about it")
        self.world.count("positions were void" if zero else "positions were void too late")

    def stored(self, driver: Driver, record: CheckpointRecord, answer: Answer) -> None:
        if answer is not Answer.DONE:
            return
        if record.kind is RecordKind.ZERO:
            self.zeros.append(record.checkpoint)
            return
        if self.waits.get(record.incarnation) == record.checkpoint:
            return
        void = self.epochs.get(record.incarnation, {})
        coming = self.facts.known[driver.incarnation].coming
        # Who is out, or comes back with this record, said nothing in it: it stands where an older record has it.
        zero = max(zero for zero in self.zeros if zero not in self.world.store.void)
        wrong = {at.vertex for at, one in record.snapshots.items() if one.since < zero}
        wrong |= {name for name in set(record.topology.live) - coming if record.epochs[name] <= void.get(name, -1)}
        self.expect(not wrong, f"checkpoint {record.checkpoint} holds positions of {sorted(wrong)} that are void")


class LostOnlyIfNobodyKept(Checker):
    """Rows that cannot be read again are lost only where nobody keeps them, or everything begins anew (FO4)."""

    after: ClassVar = {"lost": "lost", report.PositionsVoid: "void"}

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.anew = False

    def void(self, driver: Driver, node: None, event: Any, commands: tuple[Any, ...]) -> None:
        self.anew = True

    def lost(self, driver: Driver, restart: order.Restart) -> None:
        vertex = driver.topology.vertex(restart.subtask.vertex)
        kept = all(edge.retained for edge in driver.topology.edges if edge.sender == vertex.id)
        other = (
            vertex.determinism is VertexDeterminism.INDETERMINATE or self.anew or self.world.lied or not driver.replay
        )
        self.expect(other or not kept, f"rows of {restart.subtask} are lost, though they are retained")
        self.world.count("rows of a source that can be read only once were lost")


CHECKERS = (I17StoreIsBelieved, I45RescaledWhole, SetUpOnce, VoidPositions, LostOnlyIfNobodyKept)
