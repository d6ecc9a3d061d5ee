"""Messages between a coordinator and the participants of its pipeline: two tables, one for each direction.

Rules. (LT1) A command to the other side becomes one event there, with its time of arrival and no other addition.
(LT2) Restart becomes Restored, with the entries of the durable journal added.

May not know: how messages are transported, and how long it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.model.stream_elements import TakenInput
from seatunnel_py.protocol.participant import messages as task

Letter = Callable[[float, Any], Any]
"""Converts a command to an event at this time."""

TO_PARTICIPANT: Mapping[type, Letter] = {
    order.SendTrigger: lambda at, c: task.Triggered(at, c.incarnation, c.epoch, c.checkpoint, c.operation, c.unaligned),
    order.SendAborted: lambda at, c: task.CheckpointAborted(at, c.incarnation, c.checkpoint),
    order.SendCompleted: lambda at, c: task.CheckpointCompleted(at, c.incarnation, c.checkpoint),
    order.SendPeerRestarted: lambda at, c: task.PeerRestarted(at, c.incarnation, c.epochs, c.deliver_after),
    order.SendStart: lambda at, c: task.Started(at, c.incarnation, c.epoch),
    order.FailUnit: lambda at, c: task.UnitFailed(at, c.epoch, c.number, c.reason),
}
"""Each command goes to its ``subtask``."""

TO_COORDINATOR: Mapping[type, Letter] = {
    task.Acknowledge: lambda at, c: report.Acknowledged(
        at, c.incarnation, c.epoch, c.subtask, c.checkpoint, c.snapshot
    ),
    task.Decline: lambda at, c: report.Declined(at, c.incarnation, c.epoch, c.subtask, c.checkpoint, c.reason),
    task.ReportReady: lambda at, c: report.SubtaskReady(at, c.incarnation, c.epoch, c.subtask),
    task.ReportFailed: lambda at, c: report.SubtaskFailed(at, c.incarnation, c.epoch, c.subtask, c.reason),
    task.ReportEnded: lambda at, c: report.SourceEnded(at, c.incarnation, c.epoch, c.subtask),
}


def to_participant(at: float, command: Any) -> task.ParticipantEvent:
    """Convert a command of the coordinator to an event of the participant."""
    event: task.ParticipantEvent = TO_PARTICIPANT[type(command)](at, command)
    return event


def to_coordinator(at: float, command: Any) -> report.CoordinatorEvent:
    """Convert a command of a participant to an event of the coordinator."""
    event: report.CoordinatorEvent = TO_COORDINATOR[type(command)](at, command)
    return event


def restored(at: float, command: order.Restart, journal: Sequence[TakenInput]) -> task.Restored:
    """Convert a Restart to the event that starts an execution (LT2)."""
    return task.Restored(
        at, command.incarnation, command.epoch, command.checkpoint, command.snapshot, command.senders,
        command.receivers, tuple(journal),
    )  # fmt: skip
