"""The global snapshot of Chandy and Lamport in its general form: any processes, any FIFO channels, cycles included.

Our pipelines specialise it (``participant.py``: aligned, unaligned and back-edge snapshots); here it stands as it was
published, so that the worked examples run on it and the special forms can be compared with it. One machine a process:
events in, commands out. The world performs commands in order and at once, hands in what arrives in the order of its
channel, and calls between two events of the application. No event carries a time: nothing here ever waits for one.

Rules. (L1) A process records itself once a snapshot: when it is told to start it or at the first marker of it, which
ever comes first; any number of processes may start the same snapshot. (L2) What it records is the state that comes with
that event, kept as it is: the value is frozen (I19). (L3) In the same step, before the application emits anything more,
it sends a marker on every outgoing channel, also back to where the first marker came from. (L4) The channel on which
the first marker came is empty; every other incoming channel is recorded from there on. (L5) A later marker closes its
channel: what arrived on it since the own record is its state, so a late marker only makes that state longer. (L6) The
part of a process has ended when every incoming channel is closed; without incoming channels that is at once. (L7)
Snapshots of different ids know nothing of one another: several may be under way in any order. (L8) An id is taken once
(I11): what still comes for it after the end changes nothing. (L9) The snapshot is whole when every process has ended
its part. It will be, if and only if every process can be reached from one that starts: see ``reached``.

May not know: what states and messages mean, who else is in the graph, and whether anybody reads the result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from seatunnel_py.protocol.model.ids import Channel, Subtask

# ---------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class Message:
    """What the application sent."""

    content: object


@dataclass(frozen=True, slots=True)
class Marker:
    """Everything before it on its channel was sent before its sender recorded itself."""

    snapshot: int


@dataclass(frozen=True, slots=True)
class Start:
    """Begin this snapshot. ``state`` is that of the application now."""

    snapshot: int
    state: object


@dataclass(frozen=True, slots=True)
class Received:
    """The head of a channel. ``state`` is that of the application just before; only a marker makes use of it."""

    channel: Channel
    item: Message | Marker
    state: object = None


ProcessEvent: TypeAlias = Start | Received

# ---------------------------------------------------------------- commands


@dataclass(frozen=True, slots=True)
class SendMarker:
    """Put a marker into an outgoing channel, before anything else."""

    channel: Channel
    marker: Marker


@dataclass(frozen=True, slots=True)
class Recorded:
    """This process has ended its part: its own state, and the contents of its incoming channels, oldest first."""

    process: Subtask
    snapshot: int
    state: object
    channels: Mapping[Channel, tuple[object, ...]]


ProcessCommand: TypeAlias = SendMarker | Recorded

# ---------------------------------------------------------------- one process


@dataclass(slots=True)
class _Part:
    """A snapshot that this process has begun and not ended."""

    state: object
    arrived: dict[Channel, list[object]]
    open: set[Channel]


class Process:
    """One process. A channel may lead from a process to itself, and two processes may share several."""

    def __init__(self, name: Subtask, inputs: Collection[Channel], outputs: Collection[Channel]) -> None:
        self.name = name
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self._parts: dict[int, _Part] = {}
        self._ended: set[int] = set()  # one number a snapshot is all that is kept of it

    @property
    def recording(self) -> Mapping[int, frozenset[Channel]]:
        """Snapshots begun and not ended, and the channels on which their markers are still to come."""
        return {snapshot: frozenset(part.open) for snapshot, part in self._parts.items()}

    def handle(self, event: ProcessEvent) -> tuple[ProcessCommand, ...]:
        """Raises ValueError for an item of a channel that is no input."""
        if isinstance(event, Start):
            return self._begin(event.snapshot, event.state) + self._end(event.snapshot)
        if event.channel not in self.inputs:
            raise ValueError(f"{event.channel} is no input of {self.name}")
        if isinstance(event.item, Message):
            self._record(event.channel, event.item)
            return ()
        sent = self._begin(event.item.snapshot, event.state)
        self._close(event.item.snapshot, event.channel)
        return sent + self._end(event.item.snapshot)

    def _begin(self, snapshot: int, state: object) -> tuple[ProcessCommand, ...]:
        if snapshot in self._parts or snapshot in self._ended:  # L1, L8
            return ()
        self._parts[snapshot] = _Part(state, {channel: [] for channel in self.inputs}, set(self.inputs))
        return tuple(SendMarker(channel, Marker(snapshot)) for channel in self.outputs)

    def _record(self, channel: Channel, message: Message) -> None:
        for part in self._parts.values():  # L7
            if channel in part.open:
                part.arrived[channel].append(message.content)

    def _close(self, snapshot: int, channel: Channel) -> None:
        if snapshot in self._parts:
            self._parts[snapshot].open.discard(channel)

    def _end(self, snapshot: int) -> tuple[ProcessCommand, ...]:
        part = self._parts.get(snapshot)
        if part is None or part.open:
            return ()
        del self._parts[snapshot]
        self._ended.add(snapshot)
        contents = {channel: tuple(arrived) for channel, arrived in part.arrived.items()}
        return (Recorded(self.name, snapshot, part.state, contents),)


# ---------------------------------------------------------------- all processes


@dataclass(frozen=True, slots=True)
class GlobalSnapshot:
    """A state that the system may have been in: of every process, and of every channel."""

    snapshot: int
    states: Mapping[Subtask, object]
    channels: Mapping[Channel, tuple[object, ...]]


def assemble(snapshot: int, processes: Collection[Subtask], parts: Iterable[Recorded]) -> GlobalSnapshot | None:
    """The snapshot made of its parts; None as long as one is missing (L9). Parts of other snapshots may be among
    them."""
    own = {part.process: part for part in parts if part.snapshot == snapshot}
    if not own.keys() >= set(processes):
        return None
    channels = {channel: contents for part in own.values() for channel, contents in part.channels.items()}
    return GlobalSnapshot(snapshot, {name: part.state for name, part in own.items()}, channels)


def reached(initiators: Iterable[Subtask], channels: Iterable[Channel]) -> frozenset[Subtask]:
    """Who will get a marker or starts. In a graph that hangs together the snapshot ends exactly when this is everybody:
    whoever is not reached leaves a channel open at somebody who is."""
    channels = tuple(channels)
    found = set(initiators)
    waiting = list(found)
    while waiting:
        here = waiting.pop()
        for channel in channels:
            if channel.sender == here and channel.receiver not in found:
                found.add(channel.receiver)
                waiting.append(channel.receiver)
    return frozenset(found)
