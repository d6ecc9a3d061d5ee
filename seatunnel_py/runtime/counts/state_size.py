"""A split whose state is large is warned of, before its checkpoints are a burden. Pure."""

from __future__ import annotations

from seatunnel_py.api.batch import Position
from seatunnel_py.api.source import Split
from seatunnel_py.work.rows.positions import state_bytes

WARNED_SHARE = 16
"""A state of a sixteenth of what is allowed is warned of: 64 KiB of 1 MiB."""


def large_state(split: Split, position: Position | None, allowed: int) -> tuple[str, int] | None:
    """Which part of the split's state is large, and its bytes."""
    parts = {
        f"the payload of split {split.id}": state_bytes(split.payload) if split.payload else 0,
        f"the position in split {split.id}": state_bytes(position.value) if position is not None else 0,
    }
    what, size = max(parts.items(), key=lambda part: part[1])
    return (what, size) if size * WARNED_SHARE > allowed else None
