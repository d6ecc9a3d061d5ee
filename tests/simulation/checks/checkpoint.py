"""Checkers of checkpoints: I8, I47, I9 to I11."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import SubtaskSnapshot
from tests.simulation.checks.checker import Checker
from tests.simulation.checks.states import rows_in
from tests.simulation.jobs.targets import Answer

if TYPE_CHECKING:
    from tests.simulation.checks.drivers import Driver


class Cut(Checker):
    """What I8 and I47 share: a channel in a completed record."""

    def channel(self, driver: Driver, record: CheckpointRecord, channel: Channel, *, may_hold: bool) -> None:
        sender, receiver = record.snapshots[channel.sender], record.snapshots[channel.receiver]
        sent, applied = sender.sent.get(channel, 0), receiver.applied.get(channel, 0)
        waiting = receiver.channel_state.get(channel, ())
        about = f"checkpoint {record.checkpoint}, {channel}: sent {sent}, applied {applied}, held {[one.number for one in waiting]}"
        numbers = [one.number for one in waiting]
        self.expect(numbers == list(range(applied + 1, applied + 1 + len(numbers))), about)
        end = applied + len(numbers)
        cut = self.facts.cuts.get((driver.serial, record.checkpoint, channel))
        self.expect(cut is not None, f"no barrier was sent; {about}")
        own, ever = cut
        self.expect(own == sent, f"the barrier went out behind {own}; {about}")
        # A receiver may be ahead of a sender that is catching up, for it drops what comes again (I22).
        self.expect(end == sent or sent < end <= ever, f"{ever} were ever sent; {about}")
        self.expect(may_hold or not numbers, f"aligned; {about}")
        known = self.facts.sent.content[channel]
        for one in waiting:
            self.expect(
                self.world.lied or one.number > len(known) or known[one.number - 1] in (one.digest, None),
                f"other rows; {about}",
            )


class I8ConsistentCut(Cut):
    """Applied, held and still to be sent cover every number of every channel once; states are what was applied."""

    after: ClassVar = {"stored": "stored"}

    def stored(self, driver: Driver, record: CheckpointRecord, answer: Answer) -> None:
        if answer is not Answer.DONE or record.kind is RecordKind.ZERO or not self.line.current(driver):
            return
        back_edges = driver.whole.back_edges
        aligned = (driver.serial, record.checkpoint) not in self.facts.unaligned
        for channel in record.topology.channels:
            if channel.edge not in back_edges:
                self.channel(driver, record, channel, may_hold=not aligned)
        if not aligned:
            self.count("an unaligned checkpoint completed")
        if any(waiting for one in record.snapshots.values() for waiting in one.channel_state.values()):
            self.count("channel state was not empty")
        for subtask in record.topology.subtasks():
            snapshot = record.snapshots.get(subtask)
            if snapshot is not None and snapshot.applied and not self.world.lied:
                self.state(record, subtask, snapshot)

    def state(self, record: CheckpointRecord, subtask: Subtask, snapshot: SubtaskSnapshot) -> None:
        held = rows_in(snapshot.state)
        if held is None:
            return  # it counts nothing
        wanted = self.facts.sent.base.get(subtask, 0)
        for channel, number in snapshot.applied.items():
            sums = self.facts.sent.sums[channel]
            if number >= len(sums):
                self.fail(
                    f"checkpoint {record.checkpoint}: {subtask} applied {number} of {channel}, which sent {len(sums) - 1}"
                )
            wanted += sums[number]
        self.expect(
            held == wanted, f"checkpoint {record.checkpoint}: {subtask} holds {held} rows, its inputs are {wanted}"
        )


class I47BackEdges(Cut):
    """What went round between the loop head's snapshot and the return of its barrier is in the cut."""

    after: ClassVar = {"stored": "stored"}

    def stored(self, driver: Driver, record: CheckpointRecord, answer: Answer) -> None:
        if answer is not Answer.DONE or record.kind is RecordKind.ZERO or not self.line.current(driver):
            return
        for channel in record.topology.channels:
            if channel.edge in driver.whole.back_edges:
                self.channel(driver, record, channel, may_hold=True)
                if record.snapshots[channel.receiver].channel_state.get(channel):
                    self.count("a back-edge held rows in the cut")


class I9Completeness(Checker):
    """One acknowledgement of the present epoch from everyone, no less and no other."""

    after: ClassVar = {order.Persist: "persist"}

    def persist(self, driver: Driver, node: None, command: order.Persist) -> None:
        record = command.record
        if record.kind is RecordKind.ZERO:
            return
        known = self.facts.of(driver)
        heard = known.acknowledged.get(record.checkpoint, {})
        wanted = set(driver.topology.subtasks())
        missing = wanted - set(record.snapshots)
        self.expect(not missing, f"checkpoint {record.checkpoint} lacks {missing}")
        for subtask, snapshot in record.snapshots.items():
            if subtask not in wanted:
                left_out = subtask.vertex in record.topology.detached
                self.expect(left_out, f"{subtask} is in checkpoint {record.checkpoint}, and does not take part")
                continue
            epoch, said = heard.get(subtask, (0, None))
            self.expect(said is snapshot, f"checkpoint {record.checkpoint} holds what {subtask} did not say")
            self.expect(
                epoch == known.epochs.get(subtask), f"checkpoint {record.checkpoint}: {subtask} spoke in epoch {epoch}"
            )


class I10DurableFirst(Checker):
    """Nobody hears of a completion, and nothing is committed, before the record is durable."""

    after: ClassVar = {order.SendCompleted: "told", order.CheckpointEnded: "ended"}

    def told(self, driver: Driver, node: None, command: order.SendCompleted) -> None:
        self.expect(command.checkpoint in self.line.ever, f"checkpoint {command.checkpoint} is not durable, but told")

    def ended(self, driver: Driver, node: None, command: order.CheckpointEnded) -> None:
        if command.reason is None:
            self.told(driver, node, command)
            self.count("a checkpoint completed")


class I11IdsGrow(Checker):
    """No id is used twice, and each is higher than all of earlier incarnations."""

    after: ClassVar = {order.SendTrigger: "trigger"}

    def trigger(self, driver: Driver, node: None, command: order.SendTrigger) -> None:
        used = self.facts.used
        number = command.checkpoint
        if used.get(number) == driver.serial:
            return
        self.expect(number not in used, f"id {number} was used by driver {used.get(number)} and is by {driver.serial}")
        lower = [other for other, by in used.items() if by <= driver.serial]
        self.expect(not lower or max(lower) < number, f"id {number} comes after {max(lower, default=0)}")
        higher = [other for other, by in used.items() if by > driver.serial]
        self.expect(
            not higher or number < min(higher), f"id {number} of an overtaken driver is above those of a newer one"
        )
        durable = [one.checkpoint for one in self.line.ever.values() if one.incarnation <= driver.incarnation]
        self.expect(
            number > max(durable, default=0), f"id {number} comes after the record of {max(durable, default=0)}"
        )
        used[number] = driver.serial


CHECKERS = (I8ConsistentCut, I47BackEdges, I9Completeness, I10DurableFirst, I11IdsGrow)
