"""Checkers of commits and of the end: I27 to I30, I33, I43, I44, I46."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import RecordKind
from seatunnel_py.protocol.model.stream_elements import BatchHandle
from seatunnel_py.protocol.participant import messages as task
from tests.simulation.checker import Checker
from tests.simulation.storage import Answer

if TYPE_CHECKING:
    from tests.simulation.driver import Driver, Node


class I27CommitCompletedOnly(Checker):
    """A commit is sent for a completed checkpoint only."""

    after: ClassVar = {order.CommitPieces: "commit"}

    def commit(self, driver: Driver, node: None, command: order.CommitPieces) -> None:
        self.expect(
            command.checkpoint in self.world.store.ever,
            f"{command.scope}: commit of {command.checkpoint}, not completed",
        )


class I28CommitOnce(Checker):
    """However often it is tried, a commit has its effect once."""

    after: ClassVar = {"committed": "committed"}

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.done: set[Any] = set()

    def committed(self, driver: Driver, target: Any, command: order.CommitPieces, answer: Answer) -> None:
        if answer is Answer.DONE:
            for key in ((target.scope, command.checkpoint), *(piece.name for piece in command.pieces)):
                self.expect(key not in self.done, f"{key} becomes visible a second time")
                self.done.add(key)
        self.expect(answer is not Answer.LOST or driver is not self.world.newest, f"{target.scope}: pieces are missing")


class I30CommitsInOrder(Checker):
    """Per scope a commit is sent when the one before it is confirmed, and none is left out."""

    after: ClassVar = {
        order.CommitPieces: "sent",
        report.CommitConfirmed: "answered",
        report.CommitFailed: "answered",
        "committed": "committed",
    }

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.open: dict[tuple[int, str], int] = {}
        self.applied: dict[str, set[int]] = {}

    def sent(self, driver: Driver, node: None, command: order.CommitPieces) -> None:
        key = (driver.incarnation, command.scope)
        self.expect(
            key not in self.open, f"{command.scope}: {command.checkpoint} is sent while {self.open.get(key)} is open"
        )
        self.open[key] = command.checkpoint

    def answered(self, driver: Driver, node: None, event: Any, commands: tuple[Any, ...]) -> None:
        # The event is seen with what it led to, and before that is performed.
        self.open.pop((driver.incarnation, event.scope), None)

    def committed(self, driver: Driver, target: Any, command: order.CommitPieces, answer: Answer) -> None:
        if answer is not Answer.DONE:
            return
        applied = self.applied.setdefault(target.scope, set())
        for record in self.facts.completed:
            for commit in record.uncommitted:
                if commit.scope == target.scope and commit.checkpoint < command.checkpoint:
                    self.expect(
                        commit.checkpoint in applied, f"{target.scope}: {command.checkpoint} before {commit.checkpoint}"
                    )
        applied.add(command.checkpoint)


class I33NamedStays(Checker):
    """What a record names is not dropped while the record is there, and what it commits not before it is visible."""

    after: ClassVar = {order.DropPieces: "drop"}

    def drop(self, driver: Driver, node: None, command: order.DropPieces) -> None:
        wanted, ledger = {piece.name for piece in command.pieces}, self.world.targets[command.scope].ledger
        for record in self.facts.completed:
            # A scope that has nothing new in a record has no commit of it: its ledger never comes to stand there.
            there = record.checkpoint in self.world.store.records
            due = [
                one for one in record.uncommitted if there or (one.scope == command.scope and one.checkpoint > ledger)
            ]
            named = {piece.name for commit in due for piece in commit.pieces}
            if there:
                named |= {piece.name for one in record.snapshots.values() for piece in one.pieces}
            wrong = sorted(named & wanted)
            self.expect(not wrong, f"{wrong} are dropped, though checkpoint {record.checkpoint} names them")
        self.world.count("orphans were dropped")


class I29EventualCommit(Checker):
    """A target that is away ends no pipeline: the commit is tried until it succeeds."""

    after: ClassVar = {order.PipelineEnded: "ended"}

    def ended(self, driver: Driver, node: None, command: order.PipelineEnded) -> None:
        self.expect(command.reason is not Reason.COMMIT_FAILED, "the pipeline ends because a commit failed")


class I43EndOfInput(Checker):
    """Success is said when all has ended, all is stored and every commit is confirmed."""

    after: ClassVar = {order.PipelineEnded: "ended"}

    def ended(self, driver: Driver, node: None, command: order.PipelineEnded) -> None:
        if command.reason is not None or driver is not self.world.newest:
            return
        world = self.world
        record = world.store.newest()
        if not command.savepoint:
            self.expect(
                record is not None and record.kind is RecordKind.FINAL,
                f"success, but the newest record is {record and record.kind}",
            )
            live = record.topology.subtasks()
            held = any(waiting for one in live for waiting in record.snapshots[one].channel_state.values())
            sources = [one for one in live if one.vertex in record.topology.sources]
            ended = all(record.snapshots[source].ended for source in sources)
            self.expect(ended and not held, "success, but the last cut is not an end")
        for commit in record.uncommitted:
            ledger = world.targets[commit.scope].ledger
            self.expect(
                ledger >= commit.checkpoint, f"success, but {commit.scope} stands at {ledger}, not {commit.checkpoint}"
            )


class I44Savepoint(Checker):
    """A savepoint is pinned; behind the barrier of a stop the sources are silent."""

    after: ClassVar = {task.Emit: "emit", order.PipelineEnded: "ended", "end": "end"}

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.sources = set(world.pipeline.topology.sources)

    def emit(self, driver: Driver, node: Node, command: task.Emit) -> None:
        if node.subtask.vertex in self.sources and type(command.envelope.item) is BatchHandle:
            stopped = self.facts.life(driver, node).stopped_by
            life = self.facts.life(driver, node)
            if command.envelope.item.number > life.sent[command.envelope.channel]:
                self.expect(not stopped, f"{node.name} sends rows behind the stop of checkpoint {stopped}")

    def ended(self, driver: Driver, node: None, command: order.PipelineEnded) -> None:
        if command.savepoint:
            names = [record.name for record in self.world.store.savepoints()]
            self.expect(command.savepoint in names, f"savepoint {command.savepoint} is not there, but {names}")

    def end(self) -> None:
        gone = [
            number for number in self.world.store.deleted if self.world.store.ever[number].kind is RecordKind.SAVEPOINT
        ]
        self.expect(not gone, f"savepoints {gone} were deleted")
        if self.world.store.savepoints():
            self.world.count("a savepoint was taken")


class I46FinishedStaysFinished(Checker):
    """A source that had ended reads nothing more, in any later life."""

    after: ClassVar = {task.RunUnit: "unit"}

    def unit(self, driver: Driver, node: Node, command: task.RunUnit) -> None:
        if command.channel is None:
            life = self.facts.life(driver, node)
            self.expect(not life.snapshot.ended, f"{node.name} had ended and reads again")


CHECKERS = (
    I27CommitCompletedOnly,
    I28CommitOnce,
    I29EventualCommit,
    I30CommitsInOrder,
    I33NamedStays,
    I43EndOfInput,
    I44Savepoint,
    I46FinishedStaysFinished,
)
