"""Checkers of drivers and lives that were overtaken: I34, I35, I37."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.participant import messages as task
from tests.simulation.checks.checker import Checker
from tests.simulation.jobs.targets import Answer

if TYPE_CHECKING:
    from tests.simulation.checks.drivers import Driver, Node, Shown
    from tests.simulation.checks.line import Line


class I34OneCoordinator(Checker):
    """An overtaken driver reaches nothing, and ends when it is told."""

    after: ClassVar = {
        "stored": "stored",
        "committed": "committed",
        report.PersistFailed: "refused",
        report.CommitFailed: "refused",
        order.PipelineEnded: "ended",
    }

    def stored(self, driver: Driver, record: Any, answer: Answer) -> None:
        if driver.incarnation < self.world.storage.owner:
            self.expect(answer is Answer.FENCED, f"{driver.name} stores {record.checkpoint}, though overtaken")

    def committed(self, driver: Driver, target: Shown, command: Any, answer: Answer, pieces: Any) -> None:
        overtaken = driver.incarnation < target.ledger.owner
        if overtaken:
            self.expect(answer is Answer.FENCED, f"{driver.name} commits {command.checkpoint}, though overtaken")

    def refused(self, driver: Driver, node: None, event: Any, commands: tuple[Any, ...]) -> None:
        fenced = getattr(event, "fenced", False) or getattr(event, "reason", None) is Reason.FENCED
        if fenced and driver.ended is None:
            ends = [one for one in commands if type(one) is order.PipelineEnded and one.reason is Reason.FENCED]
            self.expect(bool(ends), f"{driver.name} was fenced and goes on")
            self.expect(commands[-1] is ends[0], f"{driver.name} was fenced and still wants {commands[-1]}")

    def ended(self, driver: Driver, node: None, command: order.PipelineEnded) -> None:
        if command.reason is Reason.FENCED:
            overtaken = driver.incarnation < self.world.storage.owner
            self.expect(overtaken, f"{driver.name} is the newest and believes that it was fenced")


class I35OneWriter(Checker):
    """Nothing of an earlier life becomes visible after the fence of a later one, unless a checkpoint names it."""

    after: ClassVar = {"committed": "committed", "emptied": "emptied", "driver": "begins"}

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self.units: dict[tuple[str, str], str] = {}

    def begins(self, driver: Driver) -> None:
        """A table that joins a log counts its units from the beginning."""
        past = driver.machine.context.past.record
        if self.line.follows and past is not None:
            known = {target.node for scope in past.topology.commit_scopes for target in driver.targets().get(scope, ())}
            self.units = {key: life for key, life in self.units.items() if key[0] in known}

    def committed(self, driver: Driver, target: Shown, command: Any, answer: Answer, pieces: Any) -> None:
        if answer is not Answer.DONE:
            return
        for piece in pieces:
            unit, _, life = str(piece.data["unit"]).partition(".")[2].partition(".e")
            life = f"{str(piece.data['unit']).partition('.')[0]}.{life}"
            other = self.units.setdefault((target.node, unit), life)
            self.expect(other == life, f"{target.node}: unit {unit} comes from lives {other} and {life}")

    def emptied(self, node: str, ledger: Any) -> None:
        self.units = {key: life for key, life in self.units.items() if key[0] != node}


class I37StaleIsDropped(Checker):
    """Messages of a past life lead to nothing."""

    after: ClassVar = {
        **dict.fromkeys(
            (
                report.Acknowledged, report.Declined, report.SubtaskReady, report.SubtaskFailed, report.UnitExhausted,
                report.SourceEnded,
            ),
            "heard",
        ),
        task.Arrived: "arrived",
        **dict.fromkeys((task.UnitDone, task.UnitFailed, task.UnitLogged, task.Triggered, task.Started), "handled"),
    }  # fmt: skip

    def heard(self, driver: Driver, node: None, event: Any, commands: tuple[Any, ...]) -> None:
        now = self.facts.of(driver).epochs.get(event.subtask, -1)
        if event.incarnation < driver.incarnation or event.epoch < now:
            self.count("a message of a past life was dropped")
            self.expect(not commands, f"a stale {type(event).__name__} of {event.subtask} led to {commands[:1]}")

    def arrived(self, driver: Driver, node: Node, event: task.Arrived, commands: tuple[Any, ...]) -> None:
        life = self.facts.lives.get((driver.serial, node.subtask))
        if life is None:
            return
        envelope = event.envelope
        now = life.senders.get(envelope.channel, 0) if envelope.receiver_epoch == life.epoch else 0
        if envelope.receiver_epoch < life.epoch or envelope.sender_epoch < now:
            self.count("an envelope of a past life was dropped")
            self.expect(not commands, f"a stale envelope led {node.name} to {commands[:1]}")

    def handled(self, driver: Driver, node: Node, event: Any, commands: tuple[Any, ...]) -> None:
        life = self.facts.lives.get((driver.serial, node.subtask))
        if life is not None and event.epoch < life.epoch:
            self.count("a message of a past life was dropped")
            self.expect(not commands, f"a stale {type(event).__name__} led {node.name} to {commands[:1]}")


CHECKERS = (I34OneCoordinator, I35OneWriter, I37StaleIsDropped)
