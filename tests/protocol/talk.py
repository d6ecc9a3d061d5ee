"""A coordinator and the answers that a well-behaved world gives, one call each, so that a test reads as a story."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from seatunnel_py.protocol.coordinator import commands as cc
from seatunnel_py.protocol.coordinator import events as ev
from seatunnel_py.protocol.coordinator.coordinator import Coordinator
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import StagedPiece, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Edge, SinkKind, Topology, Vertex

C = TypeVar("C", bound=cc.CoordinatorCommand)

SOURCE, SINK = Subtask("source"), Subtask("sink")
PAIR = Topology((Vertex("source"), Vertex("sink", sink=SinkKind.TWO_PHASE)), (Edge("source", "sink"),))
FORK = Topology(
    (Vertex("source"), Vertex("left", sink=SinkKind.TWO_PHASE), Vertex("right", sink=SinkKind.TWO_PHASE)),
    (Edge("source", "left"), Edge("source", "right")),
)
SETTINGS = CheckpointSettings(interval=10.0, timeout=60.0, alignment_timeout=None)


class Talk:
    """Keeps everything that was said, and the clock."""

    def __init__(self, topology: Topology = PAIR, settings: CheckpointSettings = SETTINGS, **more: Any) -> None:
        backoff = more.pop("backoff", Backoff(retries=3, first=1.0))
        self.topology = topology
        self.coordinator = Coordinator(topology, settings, backoff, **more)
        self.incarnation = 1
        self.at = 0.0
        self.said: list[cc.CoordinatorCommand] = []

    def hear(self, event: ev.CoordinatorEvent) -> tuple[cc.CoordinatorCommand, ...]:
        answer = self.coordinator.handle(event)
        self.said.extend(answer)
        return answer

    def all(self, kind: type[C]) -> list[C]:
        return [command for command in self.said if isinstance(command, kind)]

    def last(self, kind: type[C]) -> C:
        return self.all(kind)[-1]

    def forget(self) -> Talk:
        """What was said so far is of no interest any longer."""
        self.said.clear()
        return self

    # ---------------------------------------------------------------- a well-behaved world

    def activate(self, incarnation: int = 1) -> Talk:
        self.incarnation = incarnation
        self.hear(ev.Activated(self.at, incarnation))
        return self

    def start(self) -> Talk:
        """From nothing to RUNNING."""
        self.activate()
        self.persisted()
        return self.all_ready()

    def persisted(self, checkpoint: int | None = None) -> Talk:
        number = self.last(cc.Persist).record.checkpoint if checkpoint is None else checkpoint
        self.hear(ev.Persisted(self.at, number))
        return self

    def all_ready(self) -> Talk:
        """Everybody who was ever restarted; those who are not waited for are not listened to."""
        latest = {restart.subtask: restart for restart in self.all(cc.Restart)}
        assert latest, "nobody was restarted"
        for restart in latest.values():
            self.hear(ev.SubtaskReady(self.at, self.incarnation, restart.epoch, restart.subtask))
        return self

    def all_ready_of(self, *subtasks: Subtask) -> Talk:
        for subtask in subtasks:
            self.hear(ev.SubtaskReady(self.at, self.incarnation, self.epoch(subtask), subtask))
        return self

    def hear_and_return(self, event: ev.CoordinatorEvent) -> Talk:
        self.hear(event)
        return self

    def timer(self, name: str, at: float | None = None) -> Talk:
        self.at = self.at if at is None else at
        self.hear(ev.Timer(self.at, name))
        return self

    def epoch(self, subtask: Subtask) -> int:
        return self.coordinator.shared.epochs[subtask.vertex]

    def ack(self, checkpoint: int, *subtasks: Subtask, pieces: Iterable[str] = (), **snapshot: Any) -> Talk:
        """These (without any: all) acknowledge; the pieces are the sinks'."""
        for subtask in subtasks or self.topology.subtasks():
            own = tuple(StagedPiece(name) for name in pieces) if subtask.vertex != "source" else ()
            part = SubtaskSnapshot(pieces=own, **snapshot)
            self.hear(ev.Acknowledged(self.at, self.incarnation, self.epoch(subtask), subtask, checkpoint, part))
        return self

    def checkpoint(self, *, pieces: Iterable[str] = (), **snapshot: Any) -> CheckpointRecord:
        """A periodic one, from the timer to its record."""
        self.timer("trigger", self.at + 10.0)
        self.ack(self.last(cc.SendTrigger).checkpoint, pieces=pieces, **snapshot)
        self.persisted()
        return self.last(cc.Persist).record

    def fail(self, subtask: Subtask, reason: Reason = Reason.UNIT_FAILED) -> Talk:
        self.hear(ev.SubtaskFailed(self.at, self.incarnation, self.epoch(subtask), subtask, reason))
        return self

    def confirm(self, checkpoint: int, scope: str = "sink") -> Talk:
        self.hear(ev.CommitConfirmed(self.at, self.incarnation, scope, checkpoint))
        return self

    def end(self, *subtasks: Subtask) -> Talk:
        for subtask in subtasks:
            self.hear(ev.SourceEnded(self.at, self.incarnation, self.epoch(subtask), subtask))
        return self

    def progress(self) -> Talk:
        self.hear(ev.Progressed(self.at))
        return self
