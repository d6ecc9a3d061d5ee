"""Carries out the commands of a coordinator: letters to participants, and effects.

Rules. (1) Messages between coordinator and participants never leave the machine. (2) Entries that a journal may not
hold any longer are dropped durably before the execution begins that could meet them. (3) Nothing here decides: a commit
that may succeed later is tried again by the coordinator, and only a bounded job gives up in the end. (4) When an
execution starts, those that wait for room look again: the full queue may be that of an execution that is over.
(5) An execution is restored once no journal entry of the one before it is under way: it repeats the entries that are
durable, and each of those counts as input that was taken (I39).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from seatunnel_py.api.log_source import LogSource
from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.coordinator.checkpoints import TRIGGER
from seatunnel_py.protocol.coordinator.events import RecordsVoided
from seatunnel_py.protocol.coordinator.failure_policy import explain
from seatunnel_py.protocol.coordinator.trigger import TriggerKind
from seatunnel_py.protocol.letters import restored, to_participant
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import RecordKind
from seatunnel_py.protocol.model.stream_elements import JournalUse
from seatunnel_py.protocol.participant.unit_log import retaken
from seatunnel_py.runtime.messages import effects
from seatunnel_py.runtime.messages.effects import CloseKind
from seatunnel_py.runtime.observe.events import CheckpointDone, FailurePlace
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.pipeline.parts import Parts
from seatunnel_py.runtime.pipeline.restart_report import cannot_restart
from seatunnel_py.runtime.state.beat import on_beat
from seatunnel_py.runtime.state.journal_entries import Deliver
from seatunnel_py.runtime.state.troubles import commit_of, unit_of
from seatunnel_py.runtime.storage.journal import kept_line, void_line
from seatunnel_py.runtime.storage.savepoint_names import END_OF_LOG
from seatunnel_py.runtime.subtasks.subtask_execution import begin_all
from seatunnel_py.runtime.subtasks.unit_table import LOOK_AT_NETWORK
from seatunnel_py.runtime.values import failpoints
from seatunnel_py.runtime.values.chain_endpoints import endpoints
from seatunnel_py.work.unit import FailureKind, UnitFailure


def perform(parts: Parts, command: order.CoordinatorCommand) -> None:
    """Carry out a command of the coordinator."""
    COMMANDS[type(command)](parts, command)


# ---------------------------------------------------------------- executions


def _tell(parts: Parts, command: Any) -> None:
    """Send a command as a letter to a participant."""
    parts.state.to_participant(command.subtask, to_participant(parts.state.at, command))


def _restart(parts: Parts, command: order.Restart) -> None:
    """End one execution, begin another (rule 2)."""
    state, subtask = parts.state, command.subtask
    run = parts.executions[subtask]
    run.stop()
    run.epoch = command.epoch
    parts.replanning.restarted()
    state.isolated.discard(subtask)
    parts.restarts.began(subtask.vertex, command.epoch, command.checkpoint)
    parts.cleanup.drop(run.unnamed(state.newest))
    if subtask in state.logging:
        state.restarting[subtask] = command
    else:
        _restore(parts, command)


def durable(parts: Parts, entry: Deliver) -> None:
    """Deliver the letter of a durable entry. If its execution is over, restore the next one after the last (rule 5)."""
    state, subtask = parts.state, entry.subtask
    command = None if subtask is None else state.restarting.get(subtask)
    if command is None:
        state.mail.append((subtask, replace(entry.event, at=state.at)))
    elif command.subtask not in state.logging:
        del state.restarting[command.subtask]
        _restore(parts, command)


def _restore(parts: Parts, command: order.Restart) -> None:
    """Restore an execution, with the entries that it repeats."""
    state, snapshot, subtask = parts.state, command.snapshot, command.subtask
    run = parts.executions[subtask]
    first = (snapshot.taken if snapshot else 0) + 1
    key = state.context.key
    written = [entry for entry in state.context.shared.taken(key, subtask) if entry.number >= first]
    again = retaken(command.replay, snapshot, written)
    event = restored(state.at, command, again)
    if state.shown.state is TableState.RUNNING and state.troubles.latest is not None:  # not for another plan
        state.show(TableState.RETRYING, state.troubles.latest)
    if command.replay is JournalUse.WHOLE or not run.journaled:
        state.to_participant(subtask, event)
        return
    run.numbering = f"{command.incarnation}.{command.epoch}"
    line = kept_line(key, subtask, first, first + len(again) - 1, run.numbering)
    state.journal([line], Deliver(subtask, event))


def _start(parts: Parts, command: order.SendStart) -> None:
    state = parts.state
    state.troubles.units_run()
    state.recovered()
    line = state.context.pipeline
    if event := parts.restarts.started(state.topology, line.id, line.name, state.at):
        state.tell(event)
    _tell(parts, command)
    begin_all(parts.executions.values())  # rule 4


def _retry_unit(parts: Parts, command: order.RetryUnit) -> None:
    parts.attempts.retry(parts.executions[command.subtask], command)


def _fail_unit(parts: Parts, command: order.FailUnit) -> None:
    parts.attempts.give_up(parts.executions[command.subtask], command)


def _end_execution(parts: Parts, command: order.EndExecution) -> None:
    parts.isolated.leave(command.subtask)


def _isolated(parts: Parts, command: order.Isolated) -> None:
    parts.isolated.durable(command)


# ---------------------------------------------------------------- targets


def _commit(parts: Parts, command: order.CommitPieces) -> None:
    state, scope, checkpoint = parts.state, command.scope, command.checkpoint
    newest = state.newest
    assert newest is not None, "a commit before any record"
    final = newest.kind is RecordKind.FINAL and newest.checkpoint == checkpoint
    if final and state.shown.state is TableState.RUNNING:
        state.show(TableState.COMMITTING)
    pieces = () if scope in parts.isolated.known_bad else command.pieces
    setups = state.prepared.setups
    state.call(
        f"commit {scope}",
        lambda number: effects.CommitScope(number, scope, checkpoint, pieces, setups, final),
        retried=False,
    )


def _commit_waits(parts: Parts, command: order.CommitWaits) -> None:
    failure = parts.state.troubles.get(commit_of(command.scope))
    if failure is not None:  # else it is of a sink that is isolated, and holds up nothing
        where = FailurePlace(command.scope, checkpoint=command.checkpoint)
        parts.state.retrying("commit", command.tries, command.pause, failure, where)


def _set_up(parts: Parts, command: order.SetUp) -> None:
    group, setups = command.unit, parts.state.prepared.setups
    parts.state.call(f"set up {group}", lambda number: effects.SetUpScope(number, group, setups))


# ---------------------------------------------------------------- timers, records


def _set_timer(parts: Parts, command: order.SetTimer) -> None:
    state = parts.state
    assert state.view is not None, "a timer without a coordinator"
    name, seconds, interval = command.name, command.seconds, state.view.settings.interval
    if name == TRIGGER and interval is not None:
        seconds = on_beat(state.at + seconds, interval) - state.at
    state.after(("coordinator", name), seconds)


def _cancel_timer(parts: Parts, command: order.CancelTimer) -> None:
    parts.state.emit(effects.StopTimer(("coordinator", command.name)))


def _persist(parts: Parts, command: order.Persist) -> None:
    parts.state.emit(effects.StoreRecord(command.record))


def _void(parts: Parts, command: order.VoidRecords) -> None:
    state = parts.state
    line = void_line(state.context.key, command.checkpoints, command.newest)
    state.journal([line], Deliver(None, RecordsVoided(state.at)))


def _delete(parts: Parts, command: order.DeleteRecord) -> None:
    parts.state.emit(effects.RemoveRecord(command.checkpoint))


def _refused(parts: Parts, command: order.Refused) -> None:
    if command.what in (TriggerKind.PERIODIC, TriggerKind.FINAL):
        return  # no one has asked
    state, line = parts.state, parts.state.context.pipeline
    state.emit(effects.RefuseRequest(command.what, str(command.reason)))
    parts.closing.stop_refused(command.what)
    parts.replanning.refused(command.what)
    state.tell(CheckpointDone(line.id, line.name, 0, f"{command.what}: {command.reason}", (), state.at))


def _checkpoint_ended(parts: Parts, command: order.CheckpointEnded) -> None:
    state, line = parts.state, parts.state.context.pipeline
    reason = "" if command.reason is None else str(command.reason)
    missing = tuple(map(str, command.missing))
    if command.reason is None and (newest := state.newest) is not None:
        state.emit(effects.CompleteRecord(newest))
        parts.discovery.completed(newest)
        parts.segments.completed(newest)
        if parts.replanning.completed(newest):
            begin_all(parts.executions.values())
    if command.reason is Reason.EXPIRED:
        parts.units.last_expired = "; ".join(_kept_waiting(parts, command.missing))
    completed = state.newest if command.reason is None else None
    facts = state.checkpoints.facts(command.timing, completed) if command.timing is not None else None
    state.tell(CheckpointDone(line.id, line.name, command.checkpoint, reason, missing, state.at, state.good, facts))
    if completed is not None:
        state.tell_committed(completed.checkpoint)


def _kept_waiting(parts: Parts, missing: Iterable[Subtask]) -> Iterator[str]:
    for subtask in missing:
        run = parts.executions[subtask]
        yield parts.units.kept_waiting(subtask, run.unit, endpoints(run.vertex))


# ---------------------------------------------------------------- the end


def _is_last_run(parts: Parts) -> bool:
    """Whether no run goes on with a log that has ended: all of its rows are committed then."""
    log = parts.state.context.pipeline.log
    if log is None or not isinstance(log.source, LogSource):
        return False
    return log.source.drops_when_finished and parts.replanning.is_settled


def _ended(parts: Parts, command: order.PipelineEnded) -> None:
    closing, reason = parts.closing, command.reason
    for run in parts.executions.values():
        run.stop()
    if reason is None and parts.replanning.ended(command.savepoint):
        return
    if reason is None:
        has_ended = command.savepoint == END_OF_LOG and parts.replanning.has_ended
        closing.goes_on = has_ended and not _is_last_run(parts)
        closing.arrived(TableState.STOPPED if command.savepoint and not has_ended else TableState.DONE)
        parts.state.emit(effects.HitFailpoint(failpoints.ENDED))
        closing.end(CloseKind.RELEASE)
        return
    if reason is Reason.CANCELLED and closing.begins_again:
        closing.end(None, begin_again=True)
        return
    if reason is not Reason.CANCELLED:
        closing.failure = _why_ended(parts, reason, command.shows_twice)
    wished = closing.wish if reason is Reason.CANCELLED else None  # else it has failed before it could stop
    parts.state.show(wished or closing.failed_state, closing.failure)
    closing.end(CloseKind.WITHDRAW if reason is Reason.FENCED else None)


def _why_ended(parts: Parts, reason: Reason, shows_twice: Sequence[str]) -> UnitFailure:
    if found := parts.state.troubles.cause(reason):
        name, failure = found
        return cannot_restart(name.removeprefix(unit_of("")), shows_twice, failure.message) if shows_twice else failure
    waited = parts.units.last_expired
    if reason is Reason.TOO_MANY_FAILED_CHECKPOINTS and waited:
        return UnitFailure(FailureKind.FATAL, f"{reason}; the last one waited: {waited}", LOOK_AT_NETWORK)
    return UnitFailure(FailureKind.FATAL, explain(reason))


def _not_asked_for(parts: Parts, command: order.CoordinatorCommand) -> None:
    raise AssertionError(f"the runtime never asks for this: {command}")


COMMANDS: Mapping[type, Callable[[Parts, Any], None]] = {
    order.SendTrigger: _tell,
    order.SendAborted: _tell,
    order.SendCompleted: _tell,
    order.Restart: _restart,
    order.SendPeerRestarted: _tell,
    order.SendStart: _start,
    order.Persist: _persist,
    order.VoidRecords: _void,
    order.CommitPieces: _commit,
    order.CommitWaits: _commit_waits,
    order.RetryUnit: _retry_unit,
    order.FailUnit: _fail_unit,
    order.EndExecution: _end_execution,
    order.Isolated: _isolated,
    order.Rejoined: _not_asked_for,
    order.RejoinRefused: _not_asked_for,
    order.DropPieces: _not_asked_for,
    order.DeleteRecord: _delete,
    order.SetTimer: _set_timer,
    order.CancelTimer: _cancel_timer,
    order.SetUp: _set_up,
    order.Refused: _refused,
    order.CheckpointEnded: _checkpoint_ended,
    order.PipelineEnded: _ended,
}
