"""Which channels have no room: a unit that would give them something waits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.stream_elements import BatchHandle
from seatunnel_py.protocol.participant.participant import Participant
from seatunnel_py.runtime.values import channel_payload

Receivers = Callable[[Subtask], Participant | None]
"""The participant of a subtask; None: it takes part no longer."""


def full(
    channels: Sequence[Channel], back_edges: Collection[int], receivers: Receivers, capacity: int
) -> tuple[Channel, ...]:
    """Those of these channels that no unit may give anything to. A back-edge always has room: a loop that waits for
    itself waits for ever."""
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
