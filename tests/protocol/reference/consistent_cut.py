"""Is this a consistent cut? Two checkers that know nothing of how a snapshot was taken (O1.8, I8).

``violations`` takes a history of events and a set of them, as the theory has it. ``uncovered`` takes what our own
checkpoints record, where batches of a channel are numbered and three numbers a channel say the same.

Rules. (K1) If an event is in the cut, the event before it in the same process is. (K2) If a receipt is in the cut, the
sending is; so nothing that was sent behind the cut is recorded as received. (K3) What is in the cut as sent and not as
received is the state of the channel, in the order of sending. (K4) In numbers: applied, channel state and what is
beyond ``sent`` cover every number of a channel exactly once, in order. (K5) A receiver may be ahead of a sender that
catches up after its restart: numbers may be there twice, since their contents are the same (I22), but never missing.
(K6) An aligned cut has no channel state but on back-edges (O3.1, O3.2).

May not know: markers, barriers, and anything of a machine that it judges.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeAlias

from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.stream_elements import SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Topology

MessageId: TypeAlias = tuple[Channel, int]
"""A channel and a number on it, growing in the order of sending."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a process: it may have received one message and sent any number. The name is its own
    within the process."""

    name: str
    process: Subtask
    received: MessageId | None = None
    sent: tuple[MessageId, ...] = ()


@dataclass(frozen=True, slots=True)
class Violation:
    """An event in the cut, and one that happened before it and is not."""

    inside: Event
    missing: Event
    why: str

    def __str__(self) -> str:
        return f"{self.inside.name} is in, {self.missing.name} is not: {self.why}"


History: TypeAlias = Iterable[Sequence[Event]]
"""The events of each process, in their order."""


def violations(history: History, cut: AbstractSet[Event]) -> tuple[Violation, ...]:
    """Empty for a consistent cut; else every neighbouring pair that breaks it. Raises ValueError for what is no
    history: an event that is there twice, a message that nobody sent."""
    lines = [tuple(line) for line in history]
    if any(len(set(line)) < len(line) for line in lines):
        raise ValueError("an event is there twice: it would be in the cut and not in it")
    sender = {message: event for line in lines for event in line for message in event.sent}
    found = []
    for line in lines:
        for before, event in zip((None, *line), line, strict=False):
            if event.received is not None and event.received not in sender:
                raise ValueError(f"{event.name} received a message that nobody sent: {event.received}")
            if event not in cut:
                continue
            if before is not None and before not in cut:  # K1
                found.append(Violation(event, before, f"it is earlier in {event.process}"))
            if event.received is not None and sender[event.received] not in cut:  # K2
                found.append(Violation(event, sender[event.received], f"{event.name} received what it sent"))
    return tuple(found)


def in_transit(history: History, cut: AbstractSet[Event]) -> Mapping[Channel, tuple[int, ...]]:
    """The numbers of the messages that the cut leaves in each channel that has any (K3)."""
    inside = [event for line in history for event in line if event in cut]
    received = {event.received for event in inside}
    left: dict[Channel, list[int]] = {}
    for channel, number in sorted(message for event in inside for message in event.sent if message not in received):
        left.setdefault(channel, []).append(number)
    return {channel: tuple(numbers) for channel, numbers in left.items()}


def uncovered(
    channels: Iterable[Channel],
    snapshots: Mapping[Subtask, SubtaskSnapshot],
    catching_up: Collection[Channel] = (),
) -> tuple[str, ...]:
    """What is wrong with a record, a sentence each; empty for a consistent cut (I8). ``channels`` are all that the
    record must cover, for example ``topology.channels``; ``catching_up`` are those whose sender is repeating what it
    sent in an earlier life (K5)."""
    found = []
    for channel in channels:
        absent = [end for end in (channel.sender, channel.receiver) if end not in snapshots]
        if absent:
            found += [f"{channel}: {end} has no snapshot" for end in absent]
            continue
        receiver = snapshots[channel.receiver]
        sent = snapshots[channel.sender].sent.get(channel, 0)
        applied = receiver.applied.get(channel, 0)
        queued = tuple(batch.number for batch in receiver.channel_state.get(channel, ()))
        found += _channel_faults(channel, sent, applied, queued, channel in catching_up)
    return tuple(found)


def _channel_faults(channel: Channel, sent: int, applied: int, queued: tuple[int, ...], catching_up: bool) -> list[str]:
    found = []
    wanted = tuple(range(applied + 1, applied + 1 + len(queued)))
    if queued != wanted:
        found.append(f"{channel}: the channel state is {list(queued)}, after {applied} it has to be {list(wanted)}")
    last = max((applied, *queued))
    if last < sent:
        found.append(f"{channel}: {_range(last + 1, sent)} lost: sent, neither applied nor in the channel state")
    if last > sent and not catching_up:
        found.append(f"{channel}: {_range(sent + 1, last)} received, but sent behind the cut")
    return found


def _range(first: int, last: int) -> str:
    return f"{first} is" if first == last else f"{first} to {last} are"


def misaligned(topology: Topology, snapshots: Mapping[Subtask, SubtaskSnapshot]) -> tuple[str, ...]:
    """Channel state where an aligned cut has none (K6), a sentence each."""
    return tuple(
        f"{channel}: {len(batches)} in the channel state of an aligned cut"
        for snapshot in snapshots.values()
        for channel, batches in snapshot.channel_state.items()
        if batches and channel.edge not in topology.back_edges
    )
