"""Warns of a split with a large state, before checkpoints become expensive. Pure."""

from __future__ import annotations

from seatunnel_py.api.batch import Position
from seatunnel_py.api.source import Split
from seatunnel_py.work.rows.positions import state_bytes

WARNED_SHARE = 16
"""The warning starts at 1/16 of the limit: 64 KiB of 1 MiB."""


def large_state(split: Split, position: Position | None, allowed: int) -> tuple[str, int] | None:
    """The large part of the split's state, and its size in bytes; None if it is small."""
    parts = {
        f"the payload of split {split.id}": state_bytes(split.payload) if split.payload else 0,
        f"the position in split {split.id}": state_bytes(position.value) if position is not None else 0,
    }
    what, size = max(parts.items(), key=lambda part: part[1])
    return (what, size) if size * WARNED_SHARE > allowed else None
