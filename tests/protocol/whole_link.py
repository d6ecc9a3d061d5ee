"""A coordinator over joined participants: messages in any order between subtasks, a store, targets, one table that fails.

The source idles at ``limit`` until that is raised; the sink ``bad`` refuses every unit from its third on while ``sick``.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from typing import Any

from seatunnel_py.protocol.coordinator import commands as cc
from seatunnel_py.protocol.coordinator import events as ev
from seatunnel_py.protocol.coordinator.coordinator import Coordinator
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import OperationKind, Plain, StagedPiece, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Edge, SinkKind, Topology, Vertex
from seatunnel_py.protocol.participant import messages as msg
from seatunnel_py.protocol.participant.participant import Participant
from seatunnel_py.protocol.participant.unit_log import retaken
from tests.protocol.fake_link import FakeLink, Result, counting, routed

SOURCE, GOOD, BAD = Subtask("src"), Subtask("good"), Subtask("bad")
GRAPH = Topology(
    (Vertex("src"), *(Vertex(name, sink=SinkKind.TWO_PHASE) for name in ("good", "bad"))),
    (Edge("src", "good"), Edge("src", "bad")),
)
BOUND = 4
"""Batches on a channel beyond which its sender begins no unit: a channel to nobody must not stop it."""


HASTE = 0.1
"""How often a timer is among the possible steps: a smaller share means fewer checkpoints for each row."""


class WholeLink(FakeLink):
    """Run it until something is said; everything that the coordinator said is in ``heard``."""

    def __init__(self, seed: int, total: int = 40, topology: Topology = GRAPH) -> None:
        super().__init__(topology, self._read, counting(topology, total)[1], seed=seed)
        self.total, self.limit, self.sick = total, total // 2, True
        self.letters: dict[Subtask, deque[Any]] = {name: deque() for name in self.participants}
        self.answers: deque[Any] = deque()
        self.clocks: set[str] = set()
        self.out = set(self.participants)
        self.store: dict[int, CheckpointRecord] = {}
        self.heard: list[Any] = []
        self.incarnation, self.now = 0, 0.0

    def drive(self) -> WholeLink:
        """A driver, the first or a later one: everything that was in memory is gone."""
        record = self.store[max(self.store)] if self.store else None
        self.incarnation += 1
        if record is not None:
            self.topology = record.topology
        self.participants = {name: Participant(name, self.topology, -1.0) for name in self.participants}
        self.out, self.epochs = set(self.participants), dict.fromkeys(self.participants, 0)
        for gone in (*self.letters.values(), *self.wires.values(), self.answers, self.units, self.logging, self.clocks):
            gone.clear()
        self.coordinator = Coordinator(
            GRAPH,
            CheckpointSettings(interval=1.0, alignment_timeout=None, tolerable_failures=50),
            Backoff(retries=1, first=0.0),
            record=record,
            first_checkpoint=max(self.store, default=0) + 1000 if record else 1,
        )
        self.hear(ev.Activated(self.now, self.incarnation))
        return self

    # ------------------------------------------------------------ the coordinator

    def hear(self, event: ev.CoordinatorEvent) -> None:
        for command in self.coordinator.handle(event):
            self.heard.append(command)
            if isinstance(command, cc.Persist):
                self.answers.append(command.record)
            elif isinstance(command, cc.CommitPieces):
                self.visible |= {piece.name: piece.data for piece in command.pieces}
                about = (command.incarnation, command.scope, command.checkpoint)
                self.answers.append(ev.CommitConfirmed(self.now, *about))
            elif isinstance(command, cc.DeleteRecord):
                del self.store[command.checkpoint]
            elif isinstance(command, cc.SetTimer):
                self.clocks.add(command.name)
            elif isinstance(command, cc.CancelTimer):
                self.clocks.discard(command.name)
            elif (subtask := getattr(command, "subtask", None)) is not None:
                self.letters[subtask].append(command)

    def deliver(self, command: Any) -> None:
        """A letter of the coordinator arrives."""
        name, about = command.subtask, command.incarnation
        if isinstance(command, cc.EndExecution):
            if command.epoch > self.epochs[name]:
                self._end(name, command.epoch)
        elif isinstance(command, cc.Restart):
            if command.epoch > self.epochs[name]:
                self._begin(name, command)
        elif isinstance(command, cc.SendTrigger):
            if command.operation.kind is OperationKind.ADD:
                # Of these channels the lives that are over saw other batches; the one to come sees none of those.
                self.emitted = {key: one for key, one in self.emitted.items() if key[0].receiver != BAD}
            about = (about, command.epoch, command.checkpoint, command.operation, command.unaligned)
            self.tell(name, msg.Triggered(0.0, *about))
        elif isinstance(command, cc.SendStart):
            self.tell(name, msg.Started(0.0, about, command.epoch))
        elif isinstance(command, cc.SendPeerRestarted):
            self.tell(name, msg.PeerRestarted(0.0, about, command.epochs, command.deliver_after))
        else:
            completed = isinstance(command, cc.SendCompleted)
            kind = msg.CheckpointCompleted if completed else msg.CheckpointAborted
            self.tell(name, kind(0.0, about, command.checkpoint))

    def _end(self, name: Subtask, epoch: int) -> None:
        self.epochs[name] = epoch
        self.out.add(name)
        self.units.pop(name, None)
        self.logging.pop(name, None)

    def _begin(self, name: Subtask, command: cc.Restart) -> None:
        self._end(name, command.epoch)
        self.out.discard(name)
        taken = command.snapshot.taken if command.snapshot else 0
        entries = tuple(entry for entry in self.journals[name] if entry.number > taken)
        self.journals[name] = list(again := retaken(command.replay, command.snapshot, entries))
        about = (command.incarnation, command.epoch, command.checkpoint, command.snapshot)
        self.tell(name, msg.Restored(0.0, *about, command.senders, command.receivers, again))

    # ------------------------------------------------------------ participants

    def tell(self, name: Subtask, event: msg.ParticipantEvent) -> tuple[msg.ParticipantCommand, ...]:
        return () if name in self.out else super().tell(name, event)

    def _perform(self, name: Subtask, command: msg.ParticipantCommand) -> None:
        super()._perform(name, command)
        life = (self.incarnation, self.participants[name].epoch, name)
        if isinstance(command, msg.Acknowledge):
            self.answers.append(ev.Acknowledged(self.now, *life, command.checkpoint, command.snapshot))
        elif isinstance(command, msg.Decline):
            self.answers.append(ev.Declined(self.now, *life, command.checkpoint, command.reason))
        elif isinstance(command, msg.ReportReady):
            self.answers.append(ev.SubtaskReady(self.now, *life))
        elif isinstance(command, msg.ReportFailed):
            self.answers.append(ev.SubtaskFailed(self.now, *life, command.reason))
        elif isinstance(command, msg.ReportEnded):
            self.answers.append(ev.SourceEnded(self.now, *life))

    def _read(self, name: Subtask, state: Plain, again: Plain, choice: random.Random) -> Result:
        first = state if isinstance(state, int) else 0
        last = again if isinstance(again, int) else min(self.limit, first + choice.randint(1, 3))
        rows = [(100 + row) * 1000 for row in range(first, last)]
        made = routed(self.topology, name, rows) if rows else []
        made += [(c, [*rows]) for c in GRAPH.outputs(name) if rows and c not in dict(made)]
        return Result(last, made, range=last, ended=last == self.total)

    # ------------------------------------------------------------ steps

    def possible(self) -> list[Any]:
        steps: list[Any] = [wire for wire in self.wires if self.wires[wire] and not self._waits(wire)]
        steps += [name for name in self.participants if name in self.logging]
        steps += [name for name in self.units if all(self._has_room(wire) for wire in GRAPH.outputs(name))]
        steps += [queue for queue in self.letters.values() if queue]
        steps += [self.answers] if self.answers else []
        due = sorted(name for name in self.clocks if not name.startswith("expire"))
        return steps + due if not steps or self.random.random() < HASTE else steps

    def _waits(self, wire: Channel) -> bool:
        """It is for a life that has not begun."""
        return self.wires[wire][0].receiver_epoch > self.epochs[wire.receiver]

    def _has_room(self, wire: Channel) -> bool:
        return len(self.wires[wire]) < BOUND

    def step(self, what: Any) -> None:
        if isinstance(what, str):
            self.clocks.discard(what)
            self.now += 1.0
            self.hear(ev.Progressed(self.now))
            self.hear(ev.Timer(self.now, what))
        elif what is self.answers:
            answer = what.popleft()
            if isinstance(answer, CheckpointRecord):
                self.store[answer.checkpoint] = answer
                answer = ev.Persisted(self.now, answer.checkpoint)
            self.hear(answer)
        elif isinstance(what, deque):
            self.deliver(what.popleft())
        elif what == BAD and what not in self.logging and self.sick and self.units[what].number > 2:
            unit = self.units.pop(what)
            self.tell(what, msg.UnitFailed(0.0, unit.epoch, unit.number))
        else:
            super().step(what)

    def until(self, kind: type) -> Any:
        """Run until the coordinator says this once more."""
        before = len(self.said_of(kind))
        self.run(until=lambda: len(self.said_of(kind)) > before)
        assert len(self.said_of(kind)) > before, f"{kind.__name__} was never said; {self.coordinator.shared.state}"
        return self.said_of(kind)[-1]

    def said_of(self, kind: type) -> list[Any]:
        return [command for command in self.heard if isinstance(command, kind)]

    def read_at(self, checkpoint: int) -> int:
        """How far the source had read at this checkpoint; it is in the store as long as a table stands at it."""
        state = self.store[checkpoint].snapshots[SOURCE].state if checkpoint else 0
        return state if isinstance(state, int) else 0

    def brought(self, stand_at: int) -> dict[Subtask, SubtaskSnapshot]:
        """Somebody reads for the bad sink, from where the source stood then to where it idles now."""
        sink = self.store[stand_at].snapshots[BAD] if stand_at else SubtaskSnapshot()
        missed = tuple(100 + row for row in range(self.read_at(stand_at), self.limit))
        piece = StagedPiece(f"{BAD}/aside/{self.incarnation}", missed)
        return {BAD: SubtaskSnapshot(sink.state, pieces=(piece,), taken=sink.taken)}

    def rows(self, sink: Subtask) -> Counter[Plain]:
        """The rows that everybody sees in the target of this sink."""
        own = [data for name, data in self.visible.items() if name.startswith(f"{sink}/")]
        return Counter(row for piece in own if isinstance(piece, tuple) for row in piece)
