"""The shipping machines and the durable things as interned values: what one of them does with an event, computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seatunnel_py.protocol.commit.claims import Claim, RestoreRefusal, claim_from, next_incarnation
from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.coordinator.coordinator import Coordinator
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.failover.restore import adapted
from seatunnel_py.protocol.letters import TO_PARTICIPANT, to_coordinator, to_participant
from seatunnel_py.protocol.letters import restored as restored_by
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.lifecycle import ExecutionState
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import CheckpointRecord, CommitRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import BatchHandle, TakenInput
from seatunnel_py.protocol.model.topology import Topology
from seatunnel_py.protocol.participant import messages as task
from seatunnel_py.protocol.participant.participant import Participant
from tests.model.explored_checks import Violated, check_commit, check_moved, check_record, check_visible, expect
from tests.model.explored_durable import Answer
from tests.model.explored_instances import Instance
from tests.model.explored_state import State
from tests.model.explored_values import Interned, clone

AT = 1.0
SHORTEST = 1e-300
"""The interval: added to a time it changes nothing, so that a checkpoint is due at any moment."""
Effect = tuple[str, Any, Any]


class Machines(Interned):
    """Everything that one exploration has seen."""

    def __init__(self, instance: Instance) -> None:
        super().__init__()
        self.instance = instance
        self.settings = CheckpointSettings(
            interval=SHORTEST, tolerable_failures=10_000, max_retained=1, max_uncommitted=100,
            alignment_timeout=instance.alignment, queue_max=1000,
        )  # fmt: skip
        self.backoff = Backoff(retries=10_000, first=0.0)
        self._done: dict[Any, Any] = {}
        self.nobody = self.number(None)
        """In the place of a subtask that is not in the graph of the day."""
        self.fresh = tuple(tuple(map(self._participant(graph), instance.subtasks)) for graph in instance.graphs)
        self.at = {subtask: number for number, subtask in enumerate(instance.subtasks)}
        self.channel_at = {channel: number for number, channel in enumerate(instance.channels)}
        self.targets_at = [vertex.id for vertex in instance.topology.vertices if vertex.id in "KL"]
        self.addressee: dict[int, tuple[int, int]] = {}
        """Number of an envelope -> its receiver, and the life that it is for."""
        self.arrival: dict[int, int] = {}
        self.told: dict[int, int] = {}

    def _participant(self, graph: Topology) -> Callable[[Subtask], int]:
        live, timeout = graph.subtasks(), self.instance.alignment or 0.0
        return lambda one: self.number(Participant(one, graph, timeout)) if one in live else self.nobody

    def _order(self, message: tuple[int, int]) -> tuple[Any, ...]:
        return message[0], self.shapes[message[1]], self.ids[message[1]]

    def sorted(self, mail: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        """Messages without order, so that the same ones are the same."""
        return tuple(sorted(mail, key=self._order))

    # ---------------------------------------------------------------- coordinator

    def coordinator_step(self, machine: int, event: int, store: int) -> tuple[int, tuple[Effect, ...]]:
        newest = self.values[store].record
        key = (machine, event, -1 if newest is None else newest.checkpoint)
        known = self._done.get(key)
        if known is None:
            copy = clone(self.values[machine])
            commands = _handle(copy, self.values[event])
            if any(type(one) is order.VoidRecords for one in commands):  # one line of the journal, at once durable
                commands += _handle(copy, report.RecordsVoided(AT))
            effects = tuple(effect for one in commands for effect in self._coordinator_effect(one, newest, copy))
            known = self._done[key] = (self.number(copy), effects)
        return known

    def _coordinator_effect(self, command: Any, newest: CheckpointRecord | None, machine: Coordinator) -> list[Effect]:
        kind = type(command)
        if kind is order.Persist:
            check_record(self.instance, command.record)
            return [("flight", None, self.number(command))]
        if kind is order.CommitPieces:
            check_commit(command, newest)
            return [("flight", None, self.number(command))]
        if kind is order.SetTimer or kind is order.CancelTimer:
            return [("set" if kind is order.SetTimer else "unset", None, command.name)]
        if kind is order.CheckpointEnded:
            durable = newest is not None and newest.checkpoint == command.checkpoint
            expect(command.reason is not None or durable, "I10", f"{command.checkpoint} completes, but is not durable")
            return [("ends", None, command.checkpoint)]
        if kind is order.PipelineEnded:
            expect(command.reason is None, "I1", f"the pipeline fails: {command.reason}")
            assert newest is not None
            if newest.kind is not RecordKind.FINAL:
                expect(newest.kind is RecordKind.SAVEPOINT, "I43", f"success behind a {newest.kind}")
            return [("ended", None, newest.kind is RecordKind.FINAL)]
        if kind is order.Restart:
            expect(
                newest is not None and command.checkpoint == newest.checkpoint,
                "I17",
                f"restored is {command.checkpoint}",
            )
            storing = machine.shared.storing
            allowed = None if storing is None else storing.checkpoint
            return [("restart", allowed, (self.at[command.subtask], self.number(command)))]
        if kind not in TO_PARTICIPANT:
            return []
        if kind is order.SendCompleted:
            durable = newest is not None and command.checkpoint <= newest.checkpoint
            expect(durable, "I10", f"{command.checkpoint} is told, but not durable")
        value = self.number(command)
        self.told[value] = self.number(to_participant(AT, command))
        said: list[Effect] = [("mail", self.at[command.subtask], value)]
        return [("begins", None, command.checkpoint), *said] if kind is order.SendTrigger else said

    # ---------------------------------------------------------------- participants

    def participant_step(self, machine: int, event: int, shown: bool) -> tuple[int, tuple[Effect, ...]]:
        key = (machine, event)
        known = self._done.get(key)
        if known is None:
            copy, what = clone(self.values[machine]), self.values[event]
            logged = shown or type(what) is not task.UnitDone or copy.units.under_way.replayed
            commands = _handle(copy, what)
            known = self._done[key] = (self.number(copy), tuple(self._said(copy, one, logged) for one in commands))
        return known

    def _said(self, machine: Participant, command: Any, logged: bool) -> Effect:
        kind = type(command)
        if kind is task.RunUnit:
            expect(
                command.number == machine.units.taken + 1, "I23", f"unit {command.number} after {machine.units.taken}"
            )
            if command.channel is not None:
                applied = machine.inputs.applied[command.channel]
                expect(command.batch.number == applied + 1, "I23", f"batch {command.batch.number} after {applied}")
            return "unit", None, self.number(command)
        if kind is task.LogUnit:
            return "log", None, None
        if kind is task.Emit:
            envelope = command.envelope
            expect(
                logged or type(envelope.item) is not BatchHandle,
                "I39",
                f"{machine.subtask} shows what no journal holds",
            )
            value = self.number(command)
            self.addressee[value] = (self.at[envelope.channel.receiver], envelope.receiver_epoch)
            self.arrival[value] = self.number(task.Arrived(AT, envelope))
            return "emit", self.channel_at[envelope.channel], value
        if kind is task.TimeAlignment:
            return "timeout", None, self.number(task.AlignmentTimedOut(AT, command.epoch, command.checkpoint))
        if kind is task.ReportFailed:
            raise Violated(
                "I22" if command.reason is Reason.CONTENT_CHANGED else "I23", f"{command.subtask}: {command.reason}"
            )
        return "mail", -1, self.number(to_coordinator(AT, command))

    def for_life(self, waiting: tuple[int, ...], epoch: int) -> tuple[int, ...]:
        """Only what is for this life of the receiver or a later one."""
        return tuple(one for one in waiting if self.addressee[one][1] >= epoch)

    def of_life(self, waiting: tuple[int, ...], epoch: int) -> tuple[int, ...]:
        """Only what comes from this life of the sender or a later one."""
        return tuple(one for one in waiting if self.values[one].envelope.sender_epoch >= epoch)

    # ---------------------------------------------------------------- units

    def unit(self, command: int, state: State) -> tuple[int, tuple[int, ...]]:
        """What a unit made; a sink's is staged."""
        incarnation, targets = state.incarnation, state.targets
        key = ("unit", command, incarnation, targets, state.graph)
        known = self._done.get(key)
        if known is None:
            run = self.values[command]
            name = f"{run.subtask}/{incarnation}.{run.epoch}/{run.number}"
            done = self.instance.work(run, name, self.instance.graphs[state.graph])
            changed = list(targets)
            if run.subtask.vertex in self.targets_at:
                at = self.targets_at.index(run.subtask.vertex)
                target = clone(self.values[targets[at]])
                target.staged[name] = done.pieces[0].data
                changed[at] = self.number(target)
            known = self._done[key] = (self.number(done), tuple(changed))
        return known

    def entry(self, machine: int, done: int) -> TakenInput | None:
        """The journal entry that this unit needs, if any."""
        unit = self.values[machine].units.under_way
        return None if unit is None or unit.replayed else unit.entry(self.values[done])

    def log(self, journal: int, subtask: Subtask, epoch: int, entry: TakenInput) -> tuple[int, int]:
        books = clone(self.values[journal])
        books.append(subtask, entry)
        return self.number(books), self.number(task.UnitLogged(AT, epoch, entry.number))

    # ---------------------------------------------------------------- durable things

    def incarnate(self, store: int, journal: int, targets: tuple[int, ...]) -> tuple[Any, ...]:
        """Fence, then read, then decide (I38): the store, a coordinator and its graph, the journal, the targets."""
        own, books = clone(self.values[store]), clone(self.values[journal])
        incarnation = own.owner = next_incarnation(own.owner, own.claims)
        every = [clone(self.values[one]) for one in targets]
        newest = 0 if own.record is None else own.record.checkpoint
        for target in every:
            target.claim(incarnation, newest)
            target.sweep(own.record)
        highest = max(target.ledger for target in every)
        claim = claim_from(incarnation, own.claims, [] if own.record is None else [own.record], highest)
        if not isinstance(claim, Claim):
            raise Violated("I17", claim.why)
        own.claims.append(claim)
        graph = min(incarnation, len(self.instance.graphs)) - 1
        graph, record, replay = restored(self.instance, own.record, graph)
        machine = Coordinator(
            self.instance.graphs[graph], self.settings, self.backoff, record=record, first_checkpoint=claim.first,
            replay=replay,
        )  # fmt: skip
        if not replay:
            books.void()
        return self.number(own), self.number(machine), graph, self.number(books), tuple(map(self.number, every))

    def begin(
        self, store: int, journal: int, targets: tuple[int, ...], command: order.Restart
    ) -> tuple[int, tuple[int, ...], int]:
        """A life of a subtask begins: the journal, the targets, and what the participant hears."""
        books, vertex = clone(self.values[journal]), command.subtask.vertex
        if vertex in self.targets_at:
            at = self.targets_at.index(vertex)
            target = clone(self.values[targets[at]])
            target.sweep(self.values[store].record)
            targets = (*targets[:at], self.number(target), *targets[at + 1 :])
        event = restored_by(AT, command, books.begin(command))
        return self.number(books), targets, self.number(event)

    def perform(self, command: int, incarnation: int, store: int, journal: int, targets: tuple[int, ...]) -> Any:
        """A record reaches the store or a commit its target: the durable things, the answer, and the event it makes."""
        what = self.values[command]
        if isinstance(what, order.Persist):
            own, books, record = clone(self.values[store]), clone(self.values[journal]), what.record
            answer = own.write(record, incarnation)
            if answer is Answer.FENCED:
                return store, journal, targets, answer, self.number(report.PersistFailed(AT, record.checkpoint, True))
            books.forget(record)
            done = self.number(report.Persisted(AT, record.checkpoint))
            return self.number(own), self.number(books), targets, answer, done
        at = self.targets_at.index(what.scope)
        target, newest = clone(self.values[targets[at]]), self.values[store].record
        commit = CommitRecord(what.scope, what.checkpoint, what.pieces)
        answer = target.commit(incarnation, commit, newest.checkpoint)
        expect(answer is not Answer.LOST, "I31", f"{what.scope} finds no pieces of {what.checkpoint}")
        check_visible(self.instance, target, newest)
        about = (incarnation, what.scope, what.checkpoint)
        confirmed = (
            report.CommitFailed(AT, *about, Reason.FENCED)
            if answer is Answer.FENCED
            else report.CommitConfirmed(AT, *about)
        )
        return store, journal, (*targets[:at], self.number(target), *targets[at + 1 :]), answer, self.number(confirmed)

    def refusal(self, command: int) -> tuple[int, bool]:
        """What a coordinator hears when this command failed, and whether it is about a record."""
        what = self.values[command]
        if isinstance(what, order.Persist):
            zero = what.record.kind is RecordKind.ZERO
            return self.number(report.PersistFailed(AT, what.record.checkpoint, False)), not zero
        return self.number(report.CommitFailed(AT, what.incarnation, what.scope, what.checkpoint)), False


def restored(
    instance: Instance, record: CheckpointRecord | None, graph: int
) -> tuple[int, CheckpointRecord | None, bool]:
    """The record as the graph wants it, and whether journals still hold. Where a channel stands in the way the driver
    goes on with the graph of the record: only failures and unaligned cuts leave such channels (RS4, RS5)."""
    if record is None:
        return graph, None, True
    after = adapted(record, instance.graphs[graph])
    if isinstance(after, RestoreRefusal):
        expect("fail" in instance.faults or instance.alignment is not None, "I45", after.why)
        return 0, record, True
    check_moved(record, after)
    return graph, after, after is record


def _handle(machine: Any, event: Any) -> tuple[Any, ...]:
    try:
        return machine.handle(event)
    except Violated:
        raise
    except Exception as error:
        raise Violated("raised", f"{type(machine).__name__} on {event}: {error!r}") from error


__all__ = ["ExecutionState", "Machines"]
