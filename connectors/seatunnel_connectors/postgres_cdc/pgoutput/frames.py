"""Finds the frames of a replication stream in the bytes of a socket.

A frame begins with ``d`` and its length, so each shows where the next one begins: a chain, which a loop follows at
0.2 to 0.5 µs a frame. Instead every place that looks like the beginning of a frame is found by comparing the whole
buffer at once; where each candidate's end is the next candidate, the chain is proved, and only at other places it is
followed. Wide frames are followed one by one: comparing all their bytes would cost more.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

import numpy as np
import numpy.typing as npt

from seatunnel_connectors.postgres_cdc.pgoutput.errors import MalformedMessageError
from seatunnel_connectors.postgres_cdc.pgoutput.messages import Bytes, Numbers

COPY_DATA = b"d"[0]
STREAMED = b"wk"
XLOG_DATA, KEEPALIVE = STREAMED
HEAD_BYTES = 5  # the letter and the length
_WIDE_BYTES = 500  # from this average on a loop is cheaper
_SAMPLE = 8  # frames for the average
_LENGTH = Struct(">I")
_FRAME_BYTES_MAX = 2**30 + 2**16


@dataclass(frozen=True, slots=True)
class Frames:
    """Complete CopyData frames in a row; ``starts`` are those of their letters. ``end`` is where the last
    one ends: what follows is incomplete, or of another kind."""

    starts: Numbers
    ends: Numbers
    end: int


def find_frames(data: Bytes, start: int, size: int, first: bytes = STREAMED) -> Frames:
    """The frames of ``data[start:size]``; ``first``: the bytes that the content of one may begin with."""
    sample = _follow(data, start, size, first, _SAMPLE)
    if len(sample.starts) < _SAMPLE or sample.end - start > _SAMPLE * _WIDE_BYTES:
        return _follow(data, start, size, first)
    candidates, ends = _candidates(data, start, size, first)
    linked = ends[:-1] == candidates[1:]
    if not linked.all():
        keep = _chain(candidates, ends, np.flatnonzero(~linked), size)
        candidates, ends = candidates[keep], ends[keep]
    if len(ends) and ends[-1] > size:
        candidates, ends = candidates[:-1], ends[:-1]
    return Frames(candidates, ends, int(ends[-1]) if len(ends) else start)


def _candidates(data: Bytes, start: int, size: int, first: bytes) -> tuple[Numbers, Numbers]:
    """Places that look like a frame, with the ends that their lengths give; the first is ``start``."""
    found = np.flatnonzero(data[start : size - HEAD_BYTES] == COPY_DATA) + start
    inner = data[found + HEAD_BYTES]
    found = found[np.isin(inner, np.frombuffer(first, np.uint8))] if len(first) > 1 else found[inner == first[0]]
    lengths = np.ndarray(len(data) - 3, ">u4", data, strides=(1,))[found + 1].astype(np.int64)
    return found, found + 1 + lengths


def _chain(candidates: Numbers, ends: Numbers, broken: Numbers, size: int) -> npt.NDArray[np.bool_]:
    """Which candidates are frames, where some are not: followed from the first one, over each break of the chain."""
    keep = np.zeros(len(candidates), bool)
    following = np.searchsorted(candidates, ends)
    at, breaks = 0, [*broken.tolist(), len(candidates) - 1]
    position = 0
    while at < len(candidates):
        while breaks[position] < at:
            position += 1
        last = breaks[position]
        keep[at : last + 1] = True
        target = int(following[last])
        if target >= len(candidates) or candidates[target] != ends[last] or ends[last] > size:
            break
        at = target
    return keep


def _follow(data: Bytes, start: int, size: int, first: bytes, most: int | None = None) -> Frames:
    """Find the frames by a loop, ``most`` of them at most."""
    view = data.data
    starts: list[int] = []
    at, unpack = start, _LENGTH.unpack_from
    while at + HEAD_BYTES < size and view[at] == COPY_DATA and (most is None or len(starts) < most):
        end = at + 1 + unpack(view, at + 1)[0]
        if end > size or view[at + HEAD_BYTES] not in first:
            break
        starts.append(at)
        at = end
    bounds = np.array([*starts, at], np.int64)
    return Frames(bounds[:-1], bounds[1:], at)


def frame_end(data: Bytes, at: int, size: int) -> int | None:
    """The end of the message of any kind at ``at``, if its length has arrived."""
    if at + HEAD_BYTES > size:
        return None
    (length,) = _LENGTH.unpack_from(data.data, at + 1)
    if not 4 <= length <= _FRAME_BYTES_MAX:
        raise MalformedMessageError(f"a frame of the replication stream has {length} bytes")
    return at + 1 + int(length)
