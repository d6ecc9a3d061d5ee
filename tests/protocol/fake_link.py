"""Participants joined by FIFO channels in memory, with a deterministic unit runner and durable journals.

The schedule is a ``random.Random``: which of the possible next steps is done. There is no coordinator; a test says what
one would say (``trigger``, ``complete``, ``abort``, ``restart``) and reads what it would hear.
"""

from __future__ import annotations

import random
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from seatunnel_py.protocol.failover.regions import restart_set, restored_position
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.stream_elements import (
    BatchHandle,
    Envelope,
    Operation,
    Plain,
    StagedPiece,
    SubtaskSnapshot,
    TakenInput,
)
from seatunnel_py.protocol.model.topology import SinkKind, Spread, Topology
from seatunnel_py.protocol.participant import messages as msg
from seatunnel_py.protocol.participant.participant import Participant


@dataclass
class Result:
    """What a unit made: rows for each output channel, rows staged, and for a source what it read."""

    state: Plain
    rows: list[tuple[Channel, list[Plain]]] = field(default_factory=list)
    staged: list[Plain] = field(default_factory=list)
    range: Plain = None
    ended: bool = False


Read = Callable[[Subtask, Plain, Plain, random.Random], Result]
Apply = Callable[[Subtask, Plain, Channel, list[Plain]], Result]


class FakeLink:
    """All subtasks of one topology. ``read`` runs the units of sources, ``apply`` those of all others."""

    def __init__(self, topology: Topology, read: Read, apply: Apply, seed: int = 0, timeout: float = -1.0) -> None:
        self.topology, self.read, self.apply = topology, read, apply
        self.random = random.Random(seed)
        self.participants = {name: Participant(name, topology, timeout) for name in topology.subtasks()}
        self.wires: dict[Channel, deque[Envelope]] = {channel: deque() for channel in topology.channels}
        self.units: dict[Subtask, msg.RunUnit] = {}
        self.logging: dict[Subtask, TakenInput] = {}
        self.journals: dict[Subtask, list[TakenInput]] = {name: [] for name in self.participants}
        self.epochs = dict.fromkeys(self.participants, 0)
        self.held: set[Channel | Subtask] = set()
        """Channels that deliver nothing and subtasks whose units do not end, for a while."""
        self.acknowledged: dict[int, dict[Subtask, SubtaskSnapshot]] = {}
        self.completed: list[int] = []
        self.aborted: set[int] = set()
        self.triggered: set[int] = set()
        self.visible: dict[str, Plain] = {}
        self.said: list[msg.ParticipantCommand] = []
        self.emitted: dict[tuple[Channel, int], tuple[int, int]] = {}
        self.timers: list[msg.TimeAlignment] = []

    # ------------------------------------------------------------ what a coordinator would say

    def start(self) -> FakeLink:
        self.restart(self.participants)
        return self

    def trigger(
        self, checkpoint: int, *sources: Subtask, unaligned: bool = False, operation: Operation | None = None
    ) -> None:
        self.triggered.add(checkpoint)
        for name in sources or self.topology.subtasks(self.topology.sources):
            event = msg.Triggered(0.0, 1, self.epochs[name], checkpoint, operation or Operation(), unaligned)
            self.tell(name, event)

    def complete(self, checkpoint: int) -> None:
        """Commit what the snapshots hold, and tell everybody."""
        for snapshot in self.acknowledged[checkpoint].values():
            self.visible |= {piece.name: piece.data for piece in snapshot.pieces}
        self.completed.append(checkpoint)
        for name in self.participants:
            self.tell(name, msg.CheckpointCompleted(0.0, 1, checkpoint))

    def abort(self, checkpoint: int, *but: Subtask) -> None:
        if checkpoint not in self.completed:
            self.aborted.add(checkpoint)
        for name in sorted(set(self.participants) - set(but)):
            self.tell(name, msg.CheckpointAborted(0.0, 1, checkpoint))

    def fail(self, *vertices: str) -> frozenset[str]:
        """These fail: their region restarts from the newest completed checkpoint."""
        region = restart_set(self.topology, vertices)
        for checkpoint in sorted(self.triggered - set(self.completed) - self.aborted):
            self.abort(checkpoint)
        self.restart(self.topology.subtasks(region))
        return region

    def restart(self, subtasks: Iterable[Subtask]) -> None:
        lives = set(subtasks)
        for name in lives:
            self.epochs[name] += 1
            self.units.pop(name, None)
            self.logging.pop(name, None)
        peers_first = self.random.random() < 0.5
        if peers_first:
            self._tell_peers(lives)
        for name in sorted(lives):
            snapshot = self._newest(name)
            taken = snapshot.taken if snapshot else 0
            senders, receivers = self.topology.inputs(name), self.topology.outputs(name)
            restored = msg.Restored(
                at=0.0,
                incarnation=1,
                epoch=self.epochs[name],
                checkpoint=self.completed[-1] if self.completed else 0,
                snapshot=snapshot,
                senders={c: self.epochs[c.sender] for c in senders},
                receivers={c: self.epochs[c.receiver] for c in receivers},
                journal=tuple(entry for entry in self.journals[name] if entry.number > taken),
            )
            self.tell(name, restored)
        if not peers_first:
            self._tell_peers(lives)
        for name in sorted(lives):
            self.tell(name, msg.Started(0.0, 1, self.epochs[name]))

    def _tell_peers(self, lives: set[Subtask]) -> None:
        for name in sorted(set(self.participants) - lives):
            told = {c: self.epochs[c.sender] for c in self.topology.inputs(name) if c.sender in lives}
            again = {c: self.epochs[c.receiver] for c in self.topology.outputs(name) if c.receiver in lives}
            wanted = {c: restored_position(self._newest(c.receiver), c) for c in again}
            if told or again:
                self.tell(name, msg.PeerRestarted(0.0, 1, told | again, wanted))

    def _newest(self, name: Subtask) -> SubtaskSnapshot | None:
        return self.acknowledged[self.completed[-1]][name] if self.completed else None

    # ------------------------------------------------------------ steps

    def tell(self, name: Subtask, event: msg.ParticipantEvent) -> tuple[msg.ParticipantCommand, ...]:
        commands = self.participants[name].handle(event)
        for command in commands:
            self._perform(name, command)
        return commands

    def _perform(self, name: Subtask, command: msg.ParticipantCommand) -> None:
        self.said.append(command)
        if isinstance(command, msg.Emit):
            self.wires[command.envelope.channel].append(command.envelope)
            if isinstance(item := command.envelope.item, BatchHandle):
                content = (item.rows, item.digest)
                assert self.emitted.setdefault((command.envelope.channel, item.number), content) == content  # I22
        elif isinstance(command, msg.RunUnit):
            self.units[name] = command
        elif isinstance(command, msg.LogUnit):
            self.logging[name] = command.entry
        elif isinstance(command, msg.Acknowledge):
            parts = self.acknowledged.setdefault(command.checkpoint, {})
            assert name not in parts, "acknowledged twice"
            parts[name] = command.snapshot
        elif isinstance(command, msg.TimeAlignment):
            self.timers.append(command)

    def possible(self) -> list[Channel | Subtask]:
        """What could happen next: a delivery, the end of a unit, an entry of a journal."""
        steps: list[Channel | Subtask] = [channel for channel, wire in self.wires.items() if wire]
        steps += [name for name in self.participants if name in self.units or name in self.logging]
        return [step for step in steps if step not in self.held]

    def step(self, what: Channel | Subtask) -> None:
        if isinstance(what, Channel):
            self.tell(what.receiver, msg.Arrived(0.0, self.wires[what].popleft()))
        elif (entry := self.logging.pop(what, None)) is not None:
            self.journals[what] = [old for old in self.journals[what] if old.number < entry.number] + [entry]
            self.tell(what, msg.UnitLogged(0.0, self.epochs[what], entry.number))
        else:
            self.tell(what, self._run(what, self.units.pop(what)))

    def run(self, steps: int = 10_000, until: Callable[[], bool] = lambda: False) -> FakeLink:
        """Steps at random until nothing is possible, or ``until`` says so."""
        while steps and not until() and (possible := self.possible()):
            self.step(self.random.choice(possible))
            steps -= 1
        return self

    def _run(self, name: Subtask, unit: msg.RunUnit) -> msg.UnitDone:
        if unit.channel is None or unit.batch is None:
            result = self.read(name, unit.state, unit.range, self.random)
        else:
            assert isinstance(unit.batch.payload, tuple)
            result = self.apply(name, unit.state, unit.channel, list(unit.batch.payload))
        outputs = tuple((c, tuple(rows), len(rows), digest(rows)) for c, rows in result.rows)
        pieces = tuple(StagedPiece(f"{name}/{unit.epoch}/{unit.number}", row) for row in [tuple(result.staged)] if row)
        return msg.UnitDone(0.0, unit.epoch, unit.number, result.state, outputs, pieces, result.range, result.ended)

    # ------------------------------------------------------------ what there is to see

    def of(self, kind: type, name: Subtask | None = None) -> list[msg.ParticipantCommand]:
        """The commands of this kind, in order."""
        return [c for c in self.said if isinstance(c, kind) and name in (None, getattr(c, "subtask", None))]

    def is_complete(self, checkpoint: int) -> bool:
        everybody = len(self.acknowledged.get(checkpoint, {})) == len(self.participants)
        return everybody and checkpoint not in self.aborted

    @property
    def rows_visible(self) -> Counter[Plain]:
        """The rows of all committed pieces."""
        return Counter(row for piece in self.visible.values() if isinstance(piece, tuple) for row in piece)


def digest(rows: Iterable[Plain]) -> int:
    """Over the rows without their order."""
    return sum(zlib.crc32(repr(row).encode()) for row in rows) % 2**32


def routed(topology: Topology, name: Subtask, rows: Iterable[int]) -> list[tuple[Channel, list[Plain]]]:
    """These rows on every output edge: by key, to all, or to the one."""
    found: list[tuple[Channel, list[Plain]]] = []
    for channel in topology.outputs(name):
        edge = topology.edges[channel.edge]
        parallel = topology.vertex(edge.receiver).parallelism
        keyed = edge.spread is Spread.KEYED
        mine: list[Plain] = [row for row in rows if not keyed or row % parallel == channel.receiver.index]
        if mine:
            found.append((channel, mine))
    return found


_CAME_BACK = 5_000_000
"""Added to a row that goes over a back-edge."""


def counting(topology: Topology, rows: int) -> tuple[Read, Apply]:
    """Sources number their rows; what others pass on depends on the order in which they took it; sinks stage.

    A row is origin * 1000 + a mark of the last who passed it on. Over a back-edge go origins that three divides, and
    none of them twice.
    """

    def read(name: Subtask, state: Plain, again: Plain, choice: random.Random) -> Result:
        first = state if isinstance(state, int) else 0
        last = again if isinstance(again, int) else min(rows, first + choice.randint(1, 3))
        origin = 10 * topology.sources.index(name.vertex) + name.index + 1
        made = [(origin * 100 + row) * 1000 for row in range(first, last)]
        return Result(last, routed(topology, name, made), range=last, ended=last == rows)

    def apply(name: Subtask, state: Plain, channel: Channel, taken: list[Plain]) -> Result:
        units = state if isinstance(state, int) else 0
        mark = (units % 30) * 10 + channel.edge % 10
        passed = [row // 1000 * 1000 + mark for row in taken if isinstance(row, int)]
        outputs = []
        for output, made in routed(topology, name, passed):
            if output.edge in topology.back_edges:
                made = [
                    row + _CAME_BACK
                    for row in made
                    if isinstance(row, int) and row < _CAME_BACK and not row // 1000 % 3
                ]
            if made:
                outputs.append((output, made))
        is_sink = topology.vertex(name.vertex).sink is not SinkKind.NONE
        staged: list[Plain] = [row // 1000 for row in passed] if is_sink else []
        return Result(units + 1, outputs, staged)

    return read, apply


def snapshots_by_name(parts: Mapping[Subtask, SubtaskSnapshot]) -> dict[str, Plain]:
    """The states of a checkpoint, by the names of the subtasks."""
    return {str(name): part.state for name, part in parts.items()}
