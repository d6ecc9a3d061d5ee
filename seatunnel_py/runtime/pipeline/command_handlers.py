"""What a coordinator and its participants ask for, performed for one pipeline.

Rules. (1) Messages between coordinator and participants never leave the driver. (2) What a journal may not hold any
longer is dropped durably before the life begins that could meet it. (3) Nothing here decides: what may pass is tried
again by the coordinator, and only a bounded job gives up in the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.coordinator.checkpoints import TRIGGER
from seatunnel_py.protocol.coordinator.failure_policy import explain
from seatunnel_py.protocol.coordinator.trigger import TriggerKind
from seatunnel_py.protocol.letters import restored, to_coordinator, to_participant
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import RecordKind
from seatunnel_py.protocol.model.stream_elements import JournalUse
from seatunnel_py.protocol.participant import messages as task
from seatunnel_py.protocol.participant.unit_log import retaken
from seatunnel_py.runtime.driver.timers import on_beat
from seatunnel_py.runtime.observe.events import CheckpointDone, FailurePlace
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.pipeline.restart_report import cannot_restart
from seatunnel_py.runtime.pipeline.subtask_runner import SubtaskRunner
from seatunnel_py.runtime.storage.journal import done_line, kept_line, taken_line
from seatunnel_py.runtime.targets import failpoints
from seatunnel_py.runtime.targets.commit_scope import ScopeCommit, ScopeSetUp
from seatunnel_py.runtime.targets.commit_verdict import reason_of
from seatunnel_py.runtime.units import unit_attempts
from seatunnel_py.runtime.units.inflight_units import LOOK_AT_NETWORK
from seatunnel_py.runtime.values.chain_endpoints import endpoints
from seatunnel_py.runtime.values.troubles import commit_of, unit_of
from seatunnel_py.work.unit import FailureKind, UnitFailure

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.runner import PipelineRunner


def perform(life: PipelineRunner, command: order.CoordinatorCommand) -> None:
    """Something that the coordinator has asked for."""
    _PERFORM[type(command)](life, command)


def perform_task(life: PipelineRunner, run: SubtaskRunner, command: task.ParticipantCommand) -> None:
    """Something that a participant has asked for."""
    _PERFORM_TASK[type(command)](life, run, command)


# ---------------------------------------------------------------- what the coordinator asks for


def _tell(life: PipelineRunner, command: Any) -> None:
    """A letter to a participant."""
    life.post(command.subtask, to_participant(life.now(), command))


def _trigger(life: PipelineRunner, command: order.SendTrigger) -> None:
    _tell(life, command)
    life.subtasks[command.subtask].rest_over()


def _restart(life: PipelineRunner, command: order.Restart) -> None:
    """End one life, begin another: what its journal may not hold any longer is dropped first."""
    run, snapshot = life.subtasks[command.subtask], command.snapshot
    run.stop()
    life.left_out.back(command.subtask)
    life.restarts.began(command.subtask.vertex, command.epoch, command.checkpoint)
    life.leftovers.drop(run.unnamed(life.newest))
    first = (snapshot.taken if snapshot else 0) + 1
    written = [entry for entry in life.world.taken(life.key, command.subtask) if entry.number >= first]
    again = retaken(command.replay, snapshot, written)
    event = restored(life.now(), command, again)
    if life.state is TableState.RUNNING:
        life.shown.change(TableState.RETRYING, life.troubles.latest)
    if command.replay is JournalUse.WHOLE or not run.journaled:
        life.post(command.subtask, event)
        return
    run.numbering = f"{command.incarnation}.{command.epoch}"
    line = kept_line(life.key, command.subtask, first, first + len(again) - 1, run.numbering)
    life.world.log([line], lambda: life.post(command.subtask, event))


def _start(life: PipelineRunner, command: order.SendStart) -> None:
    life.troubles.units_run()
    life.recovered()
    if event := life.restarts.started(life.topology, life.id, life.pipeline.name, life.now()):
        life.tell(event)
    _tell(life, command)


def _commit(life: PipelineRunner, command: order.CommitPieces) -> None:
    newest = life.newest
    assert newest is not None, "a commit before any record"
    final = newest.kind is RecordKind.FINAL and newest.checkpoint == command.checkpoint
    if final and life.state is TableState.RUNNING:
        life.shown.change(TableState.COMMITTING)
    groups = life.graph.scopes.get(command.scope, ())  # without sinks a vertex has bad rows only
    pieces = () if command.scope in life.left_out.known_bad else command.pieces
    life.aside.of_target(
        f"commit {command.scope}",
        ScopeCommit(groups, pieces, life.prepared.setups, life.job, command.checkpoint, final),
        lambda _: _committed(life, command),
        partial(_commit_failed, life, command),
        retried=False,
    )


def _committed(life: PipelineRunner, command: order.CommitPieces) -> None:
    if life.troubles.ends(commit_of(command.scope)):
        life.recovered()
    life.hear(report.CommitConfirmed(life.now(), command.incarnation, command.scope, command.checkpoint))
    failpoints.CONFIRMED.hit()
    life.go_on()


def _commit_failed(life: PipelineRunner, command: order.CommitPieces, failure: UnitFailure) -> None:
    if not life.left_out.commit_failed(command.scope, failure):
        life.troubles.begins(commit_of(command.scope), failure)
    reason = reason_of(failure)
    life.hear(report.CommitFailed(life.now(), command.incarnation, command.scope, command.checkpoint, reason))


def _commit_waits(life: PipelineRunner, command: order.CommitWaits) -> None:
    failure = life.troubles.get(commit_of(command.scope))
    if failure is not None:  # else it is of a sink that is out, and keeps no one waiting
        where = FailurePlace(command.scope, checkpoint=command.checkpoint)
        life.shown.retrying("commit", command.tries, command.pause, failure, where)


def _retry_unit(life: PipelineRunner, command: order.RetryUnit) -> None:
    unit_attempts.retry(life.subtasks[command.subtask], command)


def _fail_unit(life: PipelineRunner, command: order.FailUnit) -> None:
    unit_attempts.give_up(life.subtasks[command.subtask], command)


def _set_up(life: PipelineRunner, command: order.SetUp) -> None:
    nodes, setups = life.groups[command.unit], life.prepared.setups
    done = report.SetUpDone(life.now(), command.unit)
    life.aside.of_target(
        f"set up {command.unit}",
        ScopeSetUp(nodes, setups),
        lambda _: life.world.log([done_line(life.key, command.unit)], lambda: life.hear(done)),
        life.give_up,
    )


def _set_timer(life: PipelineRunner, command: order.SetTimer) -> None:
    assert life.view is not None, "a timer without a coordinator"
    name, seconds, interval = command.name, command.seconds, life.view.settings.interval
    if name == TRIGGER and interval is not None:
        now = life.now()
        seconds = on_beat(now + seconds, interval) - now
    life.world.after((life.key, name), seconds, lambda: life.hear(report.Timer(life.now(), name)))


def _cancel_timer(life: PipelineRunner, command: order.CancelTimer) -> None:
    life.world.forget((life.key, command.name))


def _delete(life: PipelineRunner, command: order.DeleteRecord) -> None:
    life.world.delete_record(life.key, command.checkpoint)


def _refused(life: PipelineRunner, command: order.Refused) -> None:
    if command.what in (TriggerKind.PERIODIC, TriggerKind.FINAL):
        return  # nobody has asked
    life.tell(CheckpointDone(life.id, life.pipeline.name, 0, f"{command.what}: {command.reason}", (), life.now()))


def _checkpoint_ended(life: PipelineRunner, command: order.CheckpointEnded) -> None:
    reason = "" if command.reason is None else str(command.reason)
    missing = tuple(map(str, command.missing))
    if command.reason is None and life.newest is not None:
        life.world.completed(life.key, life.newest)
        life.enumerating.completed(life.newest)
        life.segments.completed(life.newest)
    if command.reason is Reason.EXPIRED:
        life.units.last_expired = "; ".join(_kept_waiting(life, command.missing))
    good = life.good
    life.tell(CheckpointDone(life.id, life.pipeline.name, command.checkpoint, reason, missing, life.now(), good))


def _kept_waiting(life: PipelineRunner, missing: Iterable[Subtask]) -> Iterator[str]:
    for subtask in missing:
        run = life.subtasks[subtask]
        yield life.units.kept_waiting(subtask, run.unit, endpoints(run.vertex))


def _end_life(life: PipelineRunner, command: order.EndExecution) -> None:
    life.left_out.leave(command.subtask)


def _isolated(life: PipelineRunner, command: order.Isolated) -> None:
    life.left_out.durable(command)


def _not_asked_for(life: PipelineRunner, command: order.CoordinatorCommand) -> None:
    raise AssertionError(f"nobody has asked for this: {command}")


def _ended(life: PipelineRunner, command: order.PipelineEnded) -> None:
    for run in life.subtasks.values():
        run.stop()
    if command.reason is None:
        life.arrived(TableState.STOPPED if command.savepoint else TableState.DONE)
        failpoints.ENDED.hit()
        life.end(life.leftovers.release)
        return
    if command.reason is Reason.CANCELLED and life.renewing.void:
        life.end(life.renewing.close)
        return
    if command.reason is not Reason.CANCELLED:
        life.failure = _why_ended(life, command.reason, command.shows_twice)
    wished = life.ending if command.reason is Reason.CANCELLED else None  # else it has failed before it could stop
    life.shown.change(wished or life.failed_state, life.failure)
    life.end(life.leftovers.withdraw if command.reason is Reason.FENCED else life.leftovers.close)


def _why_ended(life: PipelineRunner, reason: Reason, shows_twice: Sequence[str]) -> UnitFailure:
    if found := life.troubles.cause(reason):
        name, failure = found
        return cannot_restart(name.removeprefix(unit_of("")), shows_twice, failure.message) if shows_twice else failure
    waited = life.units.last_expired
    if reason is Reason.TOO_MANY_FAILED_CHECKPOINTS and waited:
        return UnitFailure(FailureKind.FATAL, f"{reason}; the last one waited: {waited}", LOOK_AT_NETWORK)
    return UnitFailure(FailureKind.FATAL, explain(reason))


# ---------------------------------------------------------------- what participants ask for


def _run_unit(life: PipelineRunner, run: SubtaskRunner, command: task.RunUnit) -> None:
    run.run_unit(command)
    if command.channel is not None:
        life.subtasks[command.channel.sender].begin_if_room()


def _log_taken(life: PipelineRunner, run: SubtaskRunner, command: task.LogUnit) -> None:
    logged = task.UnitLogged(life.now(), command.epoch, command.entry.number)
    if run.journaled:
        line = taken_line(life.key, run.subtask, command.entry)
        life.world.log([line], lambda: life.post(run.subtask, logged))
    else:
        life.post(run.subtask, logged)


def _emit(life: PipelineRunner, run: SubtaskRunner, command: task.Emit) -> None:
    life.post(command.envelope.channel.receiver, task.Arrived(life.now(), command.envelope))


def _report(life: PipelineRunner, run: SubtaskRunner, command: Any) -> None:
    """A letter to the coordinator."""
    life.hear(to_coordinator(life.now(), command))


def _acknowledge(life: PipelineRunner, run: SubtaskRunner, command: task.Acknowledge) -> None:
    _report(life, run, command)
    failpoints.ACKNOWLEDGED.hit()


def _subtask_failed(life: PipelineRunner, run: SubtaskRunner, command: task.ReportFailed) -> None:
    run.stop()
    vertex, of_unit = command.subtask.vertex, command.reason in (Reason.UNIT_FAILED, Reason.UNIT_REFUSED)
    known = life.troubles.get(unit_of(vertex)) if of_unit else None
    failure = known or UnitFailure(FailureKind.FATAL, explain(command.reason))
    life.troubles.begins(unit_of(vertex), failure)
    life.restarts.failed(vertex, failure.message)
    life.left_out.failed(vertex, failure)
    _report(life, run, command)


def _source_ended(life: PipelineRunner, run: SubtaskRunner, command: task.ReportEnded) -> None:
    ended = to_coordinator(life.now(), command)
    assert isinstance(ended, report.SourceEnded), "the table of letters is another one"
    for event in life.completion.ended(ended):
        life.hear(event)


def _time_alignment(life: PipelineRunner, run: SubtaskRunner, command: task.TimeAlignment) -> None:
    life.world.after(
        (life.key, "align", command.subtask, command.checkpoint),
        command.seconds,
        lambda: life.post(command.subtask, task.AlignmentTimedOut(life.now(), command.epoch, command.checkpoint)),
    )


_PERFORM: Mapping[type, Any] = {
    order.SendTrigger: _trigger,
    order.SendAborted: _tell,
    order.SendCompleted: _tell,
    order.Restart: _restart,
    order.SendPeerRestarted: _tell,
    order.SendStart: _start,
    order.CommitPieces: _commit,
    order.CommitWaits: _commit_waits,
    order.RetryUnit: _retry_unit,
    order.FailUnit: _fail_unit,
    order.EndExecution: _end_life,
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
_PERFORM_TASK: Mapping[type, Any] = {
    task.RunUnit: _run_unit,
    task.LogUnit: _log_taken,
    task.Emit: _emit,
    task.Acknowledge: _acknowledge,
    task.Decline: _report,
    task.ReportReady: _report,
    task.ReportFailed: _subtask_failed,
    task.ReportEnded: _source_ended,
    task.TimeAlignment: _time_alignment,
}
