"""Payload of a batch in the driver: references to rows, or the end-of-input mark of its sender. Pure.

A batch of the protocol is the output of one unit for one channel: a list of slices of segments. Its digest combines
the checksums of the rows in each segment if a repetition gives the same rows in the same order, in any slices;
else the digest is the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

from seatunnel_py.api.plain_data import plain_data
from seatunnel_py.api.schema import TablePath
from seatunnel_py.protocol.model.ids import Channel
from seatunnel_py.protocol.model.stream_elements import BatchHandle
from seatunnel_py.work.unit import Slice

_ENDED, _SLICES, _NUMBERING = "ended", "slices", "numbering"


def slice_plain(one: Slice) -> Any:
    """Convert a slice to plain data, for records."""
    plain = plain_data(one)
    if one.stopped is None:
        del plain["stopped"]
    return plain


def slice_of(plain: Any) -> Slice:
    """The inverse of ``slice_plain``."""
    return Slice(**{**plain, "table": TablePath(**plain["table"])})


def slices_of(batch: BatchHandle, channel: Channel) -> tuple[Slice, ...]:
    """The slices of a batch. Their data id consists of the channel, its numbering and the batch number."""
    plain: Any = batch.payload
    name = f"{channel.edge}:{channel.sender}>{channel.receiver}{plain.get(_NUMBERING, '')}"
    return tuple(replace(slice_of(one), channel=name, sequence=batch.number) for one in plain.get(_SLICES, ()))


def size(batch: BatchHandle) -> int:
    """Number of slices in a batch, by which the capacity of channels is measured."""
    plain: Any = batch.payload
    return len(plain.get(_SLICES, ()))


def is_end(batch: BatchHandle) -> bool:
    """Return True if this is the sender's last batch, its end-of-input mark."""
    plain: Any = batch.payload
    return _ENDED in plain


def output(
    channel: Channel, slices: Sequence[Slice], *, ordered: bool, numbering: str = ""
) -> tuple[Channel, Any, int, int]:
    """One unit's rows for one channel, in the form of ``UnitDone``. ``numbering``: the execution since which the sender
    reuses numbers for other rows; empty while each number always means the same rows."""
    rows = sum(one.rows for one in slices)
    of_segments = {one.segment: one.crc for one in slices}
    digest = crc32(repr((rows, list(of_segments.values()))).encode()) if ordered else rows
    payload: dict[str, Any] = {_SLICES: [slice_plain(one) for one in slices]}
    if numbering:
        payload[_NUMBERING] = f"@{numbering}"
    return channel, payload, rows, digest


def ending(channels: Iterable[Channel]) -> tuple[tuple[Channel, Any, int, int], ...]:
    """End-of-input marks for these channels."""
    return tuple((channel, {_ENDED: True}, 0, 0) for channel in channels)
