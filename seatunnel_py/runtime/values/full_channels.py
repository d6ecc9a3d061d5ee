"""Finds full channels: a unit that would send to one must wait."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.stream_elements import BatchHandle
from seatunnel_py.protocol.participant.participant import Participant
from seatunnel_py.runtime.values import channel_payload

Receivers = Callable[[Subtask], Participant | None]
"""Returns the participant of a subtask; None: it is isolated."""


def full(
    channels: Sequence[Channel], back_edges: Collection[int], receivers: Receivers, capacity: int
) -> tuple[Channel, ...]:
    """The full ones among these channels. A back-edge is never full, because a loop would wait for itself forever."""
    return tuple(
        channel
        for channel in channels
        if channel.edge not in back_edges and not _room(channel, receivers(channel.receiver), capacity)
    )


def _room(channel: Channel, receiver: Participant | None, capacity: int) -> bool:
    if receiver is None or receiver.units.replay is not None or channel not in receiver.inputs.queues:
        return True
    queued = sum(channel_payload.size(one) for one in receiver.inputs.queues[channel] if isinstance(one, BatchHandle))
    return queued < capacity
