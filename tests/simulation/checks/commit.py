"""Checkers of commits and of the end: I27 to I30, I43, I44, I46. I33 is that of ``machine/pieces.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import RecordKind
from seatunnel_py.protocol.model.stream_elements import BatchHandle
from seatunnel_py.protocol.participant import messages as task
from tests.simulation.checks.checker import Checker
from tests.simulation.jobs.targets import Answer

if TYPE_CHECKING:
    from tests.simulation.checks.drivers import Driver, Node, Shown
    from tests.simulation.checks.line import Line


class I27CommitCompletedOnly(Checker):
    """A commit is sent for a completed checkpoint only."""

    after: ClassVar = {order.CommitPieces: "commit"}

    def commit(self, driver: Driver, node: None, command: order.CommitPieces) -> None:
        completed = self.line.known(command.checkpoint) is not None
        self.expect(completed, f"{command.scope}: commit of {command.checkpoint}, not completed")


class I28CommitOnce(Checker):
    """However often it is tried, a commit has its effect once."""

    after: ClassVar = {"committed": "committed", "emptied": "emptied"}

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self.done: set[Any] = set()

    def committed(
        self, driver: Driver, target: Shown, command: order.CommitPieces, answer: Answer, pieces: Any
    ) -> None:
        if answer is Answer.ALREADY:
            self.count("a commit was retried after success")
        elif answer is Answer.DONE:
            for key in ((target.node, command.checkpoint), *((target.node, piece.data["unit"]) for piece in pieces)):
                self.expect(key not in self.done, f"{key} becomes visible a second time")
                self.done.add(key)

    def emptied(self, node: str, ledger: Any) -> None:
        self.done = {key for key in self.done if key[0] != node}


class I29EventualCommit(Checker):
    """A target that is away ends no pipeline that has no end of its own: the commit is tried until it succeeds."""

    after: ClassVar = {order.PipelineEnded: "ended"}

    def ended(self, driver: Driver, node: None, command: order.PipelineEnded) -> None:
        given_up = command.reason is Reason.COMMIT_FAILED and not driver.machine.context.bounded
        self.expect(not given_up, "the pipeline ends because a commit failed")


class I30CommitsInOrder(Checker):
    """Per scope a commit is sent when the one before it is confirmed, and none is left out."""

    after: ClassVar = {
        order.CommitPieces: "sent",
        report.CommitConfirmed: "answered",
        report.CommitFailed: "answered",
        "committed": "committed",
        "emptied": "emptied",
    }

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self.open: dict[tuple[int, str], int] = {}

    def sent(self, driver: Driver, node: None, command: order.CommitPieces) -> None:
        key = (driver.serial, command.scope)
        self.expect(
            key not in self.open, f"{command.scope}: {command.checkpoint} is sent while {self.open.get(key)} is open"
        )
        self.open[key] = command.checkpoint

    def answered(self, driver: Driver, node: None, event: Any, commands: tuple[Any, ...]) -> None:
        # The event is seen with what it led to, and before that is performed.
        self.open.pop((driver.serial, event.scope), None)

    def committed(
        self, driver: Driver, target: Shown, command: order.CommitPieces, answer: Answer, pieces: Any
    ) -> None:
        if answer is not Answer.DONE:
            return
        for record in self.line.completed:
            for commit in record.uncommitted:
                if commit.scope == target.scope and commit.checkpoint < command.checkpoint:
                    there = target.ledger.holds(commit.checkpoint)
                    self.expect(there, f"{target.node}: {command.checkpoint} before {commit.checkpoint}")

    def emptied(self, node: str, ledger: Any) -> None:
        self.open.clear()


class I43EndOfInput(Checker):
    """Success is said when all has ended, all is stored and every commit is confirmed."""

    after: ClassVar = {order.PipelineEnded: "ended"}

    def ended(self, driver: Driver, node: None, command: order.PipelineEnded) -> None:
        if command.reason is not None or not self.line.current(driver):
            return
        record = self.line.newest
        if record is None:
            record = driver.record  # it was done before
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
        refused = driver.machine.view.commits.refused
        targets = driver.targets()
        begun = driver.record  # without the commits of isolated sinks, which their recovery issues
        commits = begun if begun is not None and begun.checkpoint == record.checkpoint else record
        for commit in commits.uncommitted:
            for target in targets.get(commit.scope, ()) if commit.scope not in refused else ():
                there = target.ledger.holds(commit.checkpoint)
                self.expect(there, f"success, but {target.node} lacks {commit.checkpoint}")


class I44Savepoint(Checker):
    """A savepoint is pinned; behind the barrier of a stop the sources are silent."""

    after: ClassVar = {task.Emit: "emit", order.PipelineEnded: "ended", "end": "end"}

    def emit(self, driver: Driver, node: Node, command: task.Emit) -> None:
        if not node.inputs and type(command.envelope.item) is BatchHandle:
            life = self.facts.life(driver, node)
            if command.envelope.item.number > life.sent[command.envelope.channel]:
                self.expect(
                    not life.stopped_by, f"{node.name} sends rows behind the stop of checkpoint {life.stopped_by}"
                )

    def ended(self, driver: Driver, node: None, command: order.PipelineEnded) -> None:
        if command.savepoint:
            self.count("a pipeline was stopped with a savepoint")
            names = [record.name for record in self.line.kept]
            self.expect(command.savepoint in names, f"savepoint {command.savepoint} is not there, but {names}")

    def end(self) -> None:
        gone = [number for number in self.line.deleted if self.line.ever[number].kind is RecordKind.SAVEPOINT]
        self.expect(not gone, f"savepoints {gone} were deleted")
        if self.line.kept:
            self.count("a savepoint was taken")


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
    I43EndOfInput,
    I44Savepoint,
    I46FinishedStaysFinished,
)
