"""Carries out the commands of a participant: letters, units, and lines of the journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.coordinator.failure_policy import explain
from seatunnel_py.protocol.letters import to_coordinator
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.participant import messages as task
from seatunnel_py.runtime.messages.effects import HitFailpoint
from seatunnel_py.runtime.pipeline.parts import Parts
from seatunnel_py.runtime.state.journal_entries import Deliver
from seatunnel_py.runtime.state.troubles import unit_of
from seatunnel_py.runtime.storage.journal import taken_line
from seatunnel_py.runtime.subtasks.subtask_execution import SubtaskExecution
from seatunnel_py.runtime.values import failpoints
from seatunnel_py.work.unit import FailureKind, UnitFailure


def perform(parts: Parts, run: SubtaskExecution, command: task.ParticipantCommand) -> None:
    """Carry out a command of the participant of this execution."""
    COMMANDS[type(command)](parts, run, command)


def _run_unit(parts: Parts, run: SubtaskExecution, command: task.RunUnit) -> None:
    if command.epoch != run.epoch:
        return  # its execution is over, and the next one waits for its journal
    run.run_unit(command)
    if command.channel is not None:
        parts.executions[command.channel.sender].begin_if_room()


def _log_unit(parts: Parts, run: SubtaskExecution, command: task.LogUnit) -> None:
    state = parts.state
    logged = task.UnitLogged(state.at, command.epoch, command.entry.number)
    if run.journaled:
        state.journal([taken_line(state.context.key, run.subtask, command.entry)], Deliver(run.subtask, logged))
    else:
        state.to_participant(run.subtask, logged)


def _emit(parts: Parts, run: SubtaskExecution, command: task.Emit) -> None:
    envelope = command.envelope
    parts.state.to_participant(envelope.channel.receiver, task.Arrived(parts.state.at, envelope))


def _report(parts: Parts, run: SubtaskExecution, command: Any) -> None:
    """Send a command as a letter to the coordinator."""
    parts.state.to_coordinator(to_coordinator(parts.state.at, command))


def _acknowledge(parts: Parts, run: SubtaskExecution, command: task.Acknowledge) -> None:
    _report(parts, run, command)
    parts.state.emit(HitFailpoint(failpoints.ACKNOWLEDGED))


def _failed(parts: Parts, run: SubtaskExecution, command: task.ReportFailed) -> None:
    run.stop()
    state, vertex = parts.state, command.subtask.vertex
    of_unit = command.reason in (Reason.UNIT_FAILED, Reason.UNIT_REFUSED)
    trouble = state.troubles.get(unit_of(vertex)) if of_unit else None
    failure = trouble or UnitFailure(FailureKind.FATAL, explain(command.reason))
    state.troubles.begins(unit_of(vertex), failure)
    parts.restarts.failed(vertex, failure.message)
    parts.isolated.failed(vertex, failure)
    _report(parts, run, command)


def _source_ended(parts: Parts, run: SubtaskExecution, command: task.ReportEnded) -> None:
    ended = to_coordinator(parts.state.at, command)
    assert isinstance(ended, report.SourceEnded), "the table of letters is another one"
    for event in parts.end_of_input.ended(ended):
        parts.state.to_coordinator(event)


def _time_alignment(parts: Parts, run: SubtaskExecution, command: task.TimeAlignment) -> None:
    parts.state.after(("align", command.subtask, command.epoch, command.checkpoint), command.seconds)


COMMANDS: Mapping[type, Callable[[Parts, SubtaskExecution, Any], None]] = {
    task.RunUnit: _run_unit,
    task.LogUnit: _log_unit,
    task.Emit: _emit,
    task.Acknowledge: _acknowledge,
    task.Decline: _report,
    task.ReportReady: _report,
    task.ReportFailed: _failed,
    task.ReportEnded: _source_ended,
    task.TimeAlignment: _time_alignment,
}
