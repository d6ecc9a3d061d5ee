"""Steps in words: what stands behind the numbers of a step's name."""

from __future__ import annotations

import re
from typing import Any

from seatunnel_py.protocol.model.stream_elements import BatchHandle
from tests.model.explored_values import Interned

NUMBER = re.compile(r"(?:(-?\d+):)?(\d+)$")
SHOWN = ("incarnation", "epoch", "checkpoint", "scope", "number", "reason", "batch", "range")


def words(values: Interned, name: str) -> str:
    """``hears 17`` -> what 17 is."""
    found = NUMBER.search(name)
    if found is None or name.startswith(("timer", "restarts", "FAULT: expire")) or "epoch" in name:
        return name
    return f"{name[: found.start()]}{describe(values.values[int(found[2])])}"


def describe(value: Any) -> str:
    """One message, without what is long in it."""
    if hasattr(value, "envelope"):
        envelope = value.envelope
        item = envelope.item
        what = f"batch {item.number} {item.payload}" if isinstance(item, BatchHandle) else str(item)
        return f"{envelope.channel} ({envelope.sender_epoch}->{envelope.receiver_epoch}) {what}"
    if hasattr(value, "record"):
        return f"{type(value).__name__} {value.record.kind} {value.record.checkpoint}"
    subtask = getattr(value, "subtask", "")
    details = [f"{name} {getattr(value, name)}" for name in SHOWN if hasattr(value, name)]
    return f"{type(value).__name__} {subtask} ({', '.join(details)})"
