"""Chooses the output channels of a subtask's rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from seatunnel_py.plan import pipelines as plan
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.runtime.values import channel_payload
from seatunnel_py.work.unit import Slice


class OutputWays:
    """Output channels of one subtask: one for each edge, so that rows of a split stay in order.
    ``channels``: channels of the plan, by edge."""

    def __init__(
        self,
        subtask: Subtask,
        outputs: Iterable[Channel],
        channels: Sequence[plan.PlannedChannel],
        retry: plan.PlannedRetryLoop | None,
    ) -> None:
        by_edge: dict[int, list[Channel]] = {}
        for channel in outputs:
            by_edge.setdefault(channel.edge, []).append(channel)
        self._ways = tuple(ways[subtask.index % len(ways)] for ways in by_edge.values())
        self._channels = channels
        self._back = retry.channel if retry is not None else None

    def outputs(
        self, slices: Sequence[Slice], *, ordered: bool, numbering: str
    ) -> Sequence[tuple[Channel, Any, int, int]]:
        """The batch for each channel from a unit's slices."""
        found, back = [], self._back
        for way in self._ways:
            channel = self._channels[way.edge]
            own = [one for one in slices if back is None or (one.channel == back.id) == (channel == back)]
            taken = [one for one in own if one.table == channel.table]
            if taken:
                found.append(channel_payload.output(way, taken, ordered=ordered, numbering=numbering))
        return found
