"""What a batch carries in the driver: handles on the rows, or word that its sender has nothing more. Pure.

A batch of the protocol is everything that one unit gave to one channel: a list of slices of segments. Its digest is
over the checksums of the rows in each segment, where the same rows come again in the same order, be it in other slices;
else it is their number alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any
from zlib import crc32

from seatunnel_py.api.schema import TablePath
from seatunnel_py.protocol.model.ids import Channel
from seatunnel_py.protocol.model.stream_elements import BatchHandle
from seatunnel_py.work.unit import Slice

_ENDED, _SLICES, _NUMBERING = "ended", "slices", "numbering"


def slice_plain(one: Slice) -> Any:
    """A slice as records hold it."""
    return asdict(one)


def slice_of(plain: Any) -> Slice:
    """The inverse of ``slice_plain``."""
    return Slice(**{**plain, "table": TablePath(**plain["table"])})


def slices_of(batch: BatchHandle, channel: Channel) -> tuple[Slice, ...]:
    """The slices of a batch, named after the channel, its numbering and the batch that they came with: that is their
    data id."""
    plain: Any = batch.payload
    name = f"{channel.edge}:{channel.sender}>{channel.receiver}{plain.get(_NUMBERING, '')}"
    return tuple(replace(slice_of(one), channel=name, sequence=batch.number) for one in plain.get(_SLICES, ()))


def size(batch: BatchHandle) -> int:
    """How many slices a batch holds: what channels count."""
    plain: Any = batch.payload
    return len(plain.get(_SLICES, ()))


def is_end(batch: BatchHandle) -> bool:
    """Whether the sender of this batch has said that nothing more will come."""
    plain: Any = batch.payload
    return _ENDED in plain


def output(
    channel: Channel, slices: Sequence[Slice], *, ordered: bool, numbering: str = ""
) -> tuple[Channel, Any, int, int]:
    """One unit's rows for one channel, as ``UnitDone`` wants them. ``numbering``: the life from which on the sender
    gives its numbers to other rows than before; empty while a number always means the same rows."""
    rows = sum(one.rows for one in slices)
    of_segments = {one.segment: one.crc for one in slices}
    digest = crc32(repr((rows, list(of_segments.values()))).encode()) if ordered else rows
    payload: dict[str, Any] = {_SLICES: [slice_plain(one) for one in slices]}
    if numbering:
        payload[_NUMBERING] = f"@{numbering}"
    return channel, payload, rows, digest


def ending(channels: Iterable[Channel]) -> tuple[tuple[Channel, Any, int, int], ...]:
    """Word for each of these channels that nothing more will come."""
    return tuple((channel, {_ENDED: True}, 0, 0) for channel in channels)
