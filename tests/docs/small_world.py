"""The shipping machines of one pipeline in a world without chance: every delay is fixed. What happens is kept as the
lines of a sequence chart."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.coordinator.coordinator import Coordinator
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.letters import restored, to_coordinator, to_participant
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.stream_elements import Barrier, BatchHandle, Envelope, Plain, StagedPiece, TakenInput
from seatunnel_py.protocol.model.topology import SinkKind, Topology
from seatunnel_py.protocol.participant import messages as task
from seatunnel_py.protocol.participant.participant import Participant

MAIL, CHANNEL, JOURNAL, STORE, TARGET = 0.010, 0.010, 0.002, 0.030, 0.040
DRIVER = "coordinator"


@dataclass
class SmallWorld:
    """``seconds``: how long a unit of each vertex takes; ``units``: how many each source has; ``fails``: (vertex, unit)
    that fails once. Every vertex has one subtask."""

    topology: Topology
    settings: CheckpointSettings
    seconds: Mapping[str, float]
    units: Mapping[str, int]
    fails: tuple[str, int] = ("", 0)
    now: float = 0.0
    lines: list[str] = field(default_factory=list)
    ended: order.PipelineEnded | None = None
    visible: list[Plain] = field(default_factory=list)
    watch: Callable[[], None] = lambda: None
    """Called after each event of a participant."""

    def __post_init__(self) -> None:
        self.coordinator = Coordinator(self.topology, self.settings, Backoff(first=0.02))
        self.participants = {name: Participant(name, self.topology, -1.0) for name in self.topology.subtasks()}
        self.journals: dict[Subtask, list[TakenInput]] = {name: [] for name in self.participants}
        self.ledger: dict[str, int] = {}
        self._heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0
        self._timers: dict[str, int] = {}

    def run(self) -> SmallWorld:
        """From the first event to the last."""
        self.later(0.0, self.hear, report.Activated, 1)
        while self._heap:
            self.now, _, call, fields = heapq.heappop(self._heap)
            call(*fields)
        return self

    def later(self, seconds: float, call: Callable[..., None], *fields: Any) -> None:
        self._count += 1
        heapq.heappush(self._heap, (round(self.now + seconds, 6), self._count, call, fields))

    # ---------------------------------------------------------------- the chart

    def message(self, sender: object, receiver: object, text: str, *, answer: bool = False) -> None:
        self.lines.append(f"{named(sender)}{'-->>' if answer else '->>'}{named(receiver)}: {text}")

    def note(self, whom: object, text: str) -> None:
        self.lines.append(f"Note over {named(whom)}: {text}")

    def between(self, first: str, last: str) -> list[str]:
        """The lines from the first that begins with ``first`` to the first after it that begins with ``last``."""
        start = next(at for at, line in enumerate(self.lines) if line.startswith(first))
        end = next(at for at, line in enumerate(self.lines) if at > start and line.startswith(last))
        return self.lines[start : end + 1]

    # ---------------------------------------------------------------- the coordinator

    def hear(self, kind: Callable[..., Any], *fields: Any) -> None:
        for command in self.coordinator.handle(kind(self.now, *fields)):
            self._perform(command)

    def _perform(self, command: order.CoordinatorCommand) -> None:
        match command:
            case order.SendTrigger():
                self.mail(f"trigger {command.checkpoint}", command)
            case order.SendAborted():
                self.mail(f"checkpoint {command.checkpoint} is given up", command)
            case order.SendCompleted():
                self.mail(f"checkpoint {command.checkpoint} is completed", command)
            case order.Restart():
                self.later(MAIL, self._begin_life, command)
            case order.SendPeerRestarted():
                epochs = ", ".join(f"{other(c, command.subtask)} lives in epoch {e}" for c, e in command.epochs.items())
                self.mail(epochs, command)
            case order.SendStart():
                self.mail("start", command)
            case order.Persist():
                self.message(DRIVER, "store", f"record {command.record.checkpoint} ({command.record.kind})")
                self.later(STORE, self._persisted, command.record.checkpoint)
            case order.CommitPieces():
                names = ", ".join(piece.name for piece in command.pieces)
                self.message(DRIVER, "target", f"commit {command.checkpoint} of {command.scope}: {names}")
                self.later(TARGET, self._commit, command)
            case order.SetTimer():
                self._set_timer(command)
            case order.CancelTimer():
                self._timers.pop(command.name, None)
            case order.DeleteRecord():
                self.message(DRIVER, "store", f"record {command.checkpoint} is not needed any longer")
            case order.CheckpointEnded():
                end = "completed" if command.reason is None else f"given up: {command.reason}"
                self.note(DRIVER, f"checkpoint {command.checkpoint} is {end}")
            case order.PipelineEnded():
                self.ended = command
                self.note(DRIVER, "the pipeline has ended: " + (command.reason or "success"))

    def mail(self, text: str, command: Any) -> None:
        """A message of the coordinator."""
        self.later(MAIL, self._mailed, text, command)

    def _mailed(self, text: str, command: Any) -> None:
        self.message(DRIVER, command.subtask, text)
        self.tell(command.subtask, to_participant(self.now, command))

    def _set_timer(self, command: order.SetTimer) -> None:
        self._timers[command.name] = self._count
        self.later(command.seconds, self._timer, command.name, self._count)
        if command.name == "restart":
            self.note(DRIVER, f"a pause of {command.seconds:g} s")

    def _timer(self, name: str, number: int) -> None:
        if self._timers.get(name) == number and self.ended is None:
            del self._timers[name]
            self.hear(report.Timer, name)

    def _persisted(self, checkpoint: int) -> None:
        self.message("store", DRIVER, f"record {checkpoint} is durable", answer=True)
        self.hear(report.Persisted, checkpoint)

    def _commit(self, command: order.CommitPieces) -> None:
        """The target's ledger decides (I28)."""
        if command.checkpoint > self.ledger.get(command.scope, 0):
            self.ledger[command.scope] = command.checkpoint
            self.visible.extend(piece.data for piece in command.pieces)
        self.message("target", DRIVER, f"the ledger of {command.scope} holds {command.checkpoint}", answer=True)
        self.hear(report.CommitConfirmed, command.incarnation, command.scope, command.checkpoint)

    # ---------------------------------------------------------------- participants

    def tell(self, subtask: Subtask, event: task.ParticipantEvent) -> None:
        participant = self.participants[subtask]
        held, received, stale = participant.blocked, participant.received, participant.stale
        commands = participant.handle(event)
        self.watch()
        self._seen(participant, event, received, stale)
        self._cut(subtask, commands)
        for command in commands:
            self._do(subtask, command)
        for channel in sorted(participant.blocked - held):
            self.note(subtask, f"holds {channel.sender.vertex} back until its snapshot")

    def _seen(
        self, participant: Participant, event: task.ParticipantEvent, received: Mapping[Any, int], stale: int
    ) -> None:
        """What became of an envelope."""
        if not isinstance(event, task.Arrived) or not isinstance(item := event.envelope.item, BatchHandle):
            return
        channel = event.envelope.channel
        if participant.stale > stale or participant.received[channel] == received[channel]:
            why = "that life is over" if participant.stale > stale else "it is there"
            self.note(participant.subtask, f"drops batch {item.number} of {channel.sender.vertex}: {why}")

    def _cut(self, subtask: Subtask, commands: tuple[task.ParticipantCommand, ...]) -> None:
        """A snapshot is taken in the step in which the barrier goes out, at a sink in that of the acknowledgement."""
        said = [c.envelope.item for c in commands if isinstance(c, task.Emit)]
        cut = {item.checkpoint for item in said if isinstance(item, Barrier)}
        cut |= {c.checkpoint for c in commands if isinstance(c, task.Acknowledge)}
        for checkpoint in sorted(cut):
            applied = self.participants[subtask].applied
            behind = "".join(f", {c.sender.vertex} up to {number}" for c, number in sorted(applied.items()))
            self.note(subtask, f"snapshot of {checkpoint}{behind or ', its position'}")

    def _do(self, subtask: Subtask, command: task.ParticipantCommand) -> None:
        match command:
            case task.RunUnit():
                self._run(subtask, command)
            case task.LogUnit():
                self.journals[subtask].append(command.entry)
                about = (task.UnitLogged, command.epoch, command.entry.number)
                self.later(JOURNAL, self.tell_if_alive, subtask, command.epoch, *about)
            case task.Emit():
                self.later(CHANNEL, self._arrive, command.envelope)
            case task.Acknowledge():
                self.say(f"acknowledges {command.checkpoint}", command)
            case task.Decline():
                self.say(f"declines {command.checkpoint}", command)
            case task.ReportReady():
                self.say("ready", command)
            case task.ReportFailed():
                self.say(f"failed: {command.reason}", command)
            case task.ReportEnded():
                self.say("has nothing more", command)
            case task.TimeAlignment():
                raise AssertionError("alignments take as long as they take here")

    def say(self, text: str, command: Any) -> None:
        self.later(MAIL, self._said, text, command)

    def _said(self, text: str, command: Any) -> None:
        self.message(command.subtask, DRIVER, text)
        self.hear(to_coordinator, command)

    def _arrive(self, envelope: Envelope) -> None:
        channel, item = envelope.channel, envelope.item
        what = "batch" if isinstance(item, BatchHandle) else type(item).__name__.lower()
        number = item.number if isinstance(item, BatchHandle) else item.checkpoint
        self.message(channel.sender, channel.receiver, f"{what} {number}")
        self.tell(channel.receiver, task.Arrived(self.now, envelope))

    def tell_if_alive(self, subtask: Subtask, epoch: int, kind: type, *fields: Any) -> None:
        if self.participants[subtask].epoch == epoch:
            self.tell(subtask, kind(self.now, *fields))

    def _begin_life(self, command: order.Restart) -> None:
        subtask, taken = command.subtask, command.snapshot.taken if command.snapshot else 0
        journal = tuple(entry for entry in self.journals[subtask] if entry.number > taken)
        again = f", journal {numbers(journal)}" if journal else ""
        self.message(DRIVER, subtask, f"epoch {command.epoch}, from checkpoint {command.checkpoint}{again}")
        self.tell(subtask, restored(self.now, command, journal))

    # ---------------------------------------------------------------- units

    def _run(self, subtask: Subtask, unit: task.RunUnit) -> None:
        if unit.channel is None or unit.batch is None:
            what = "reads on" if unit.range is None else f"reads row {unit.range} again"
        else:
            what = f"takes batch {unit.batch.number} of {unit.channel.sender.vertex}"
        self.note(subtask, f"unit {unit.number} {what}")
        self.later(self.seconds[subtask.vertex], self._end, subtask, unit)

    def _end(self, subtask: Subtask, unit: task.RunUnit) -> None:
        if self.fails == (subtask.vertex, unit.number):
            self.fails = ("", 0)
            self.note(subtask, f"unit {unit.number} fails")
            self.tell_if_alive(subtask, unit.epoch, task.UnitFailed, unit.epoch, unit.number)
            return
        vertex, count = subtask.vertex, unit.state if isinstance(unit.state, int) else 0
        row: Plain = f"{vertex}{count + 1}" if unit.batch is None else unit.batch.payload
        made = tuple((channel, row, 1, sum(map(ord, str(row)))) for channel in self.topology.outputs(subtask))
        is_sink = self.topology.vertex(vertex).sink is not SinkKind.NONE
        pieces = (StagedPiece(f"{vertex}/{unit.epoch}/{unit.number}", row),) if is_sink else ()
        about: tuple[Any, ...] = (count + 1, made, pieces, None, False)
        if unit.batch is None:
            about = (count + 1, made, pieces, count + 1, count + 1 == self.units[vertex])
        self.tell_if_alive(subtask, unit.epoch, task.UnitDone, unit.epoch, unit.number, *about)
        self.hear(report.Progressed)


def named(who: object) -> str:
    return who.vertex if isinstance(who, Subtask) else str(who)


def other(channel: Any, subtask: Subtask) -> str:
    return named(channel.sender if channel.receiver == subtask else channel.receiver)


def numbers(journal: tuple[TakenInput, ...]) -> str:
    return ", ".join(str(entry.number) for entry in journal)
