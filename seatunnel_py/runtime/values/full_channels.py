"""Which channels have no room: whoever would give them something waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from seatunnel_py.protocol.model.ids import Channel
from seatunnel_py.protocol.model.stream_elements import Batch
from seatunnel_py.runtime.values import channel_payload

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.runner import PipelineLife


def full(life: PipelineLife, channels: Sequence[Channel]) -> tuple[Channel, ...]:
    """Those of these channels that no unit may give anything to. A back-edge always has room: who waits for itself
    waits for ever."""
    back_edges = life.graph.topology.back_edges
    return tuple(channel for channel in channels if channel.edge not in back_edges and not _room(life, channel))


def _room(life: PipelineLife, channel: Channel) -> bool:
    receiver = life.subtasks[channel.receiver].participant
    queues = receiver.inputs.queues
    if channel.receiver in life.left_out or receiver.units.replay is not None or channel not in queues:
        return True
    queued = sum(channel_payload.size(one) for one in queues[channel] if isinstance(one, Batch))
    return queued < life.settings.channel_capacity
