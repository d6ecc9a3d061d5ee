"""A run in words: time, who, what came in, what it led to."""

from __future__ import annotations

import dataclasses
from typing import Any

from seatunnel_py.protocol.model.stream_elements import Barrier, BatchHandle, CancelMarker, Envelope, SubtaskSnapshot

HIDDEN = frozenset(("at", "incarnation", "snapshots", "subtask", "payload", "digest"))


def words(value: Any) -> str:
    """A value, short."""
    if isinstance(value, Envelope):
        return f"{words(value.item)} on {value.channel} ({value.sender_epoch}>{value.receiver_epoch})"
    if isinstance(value, BatchHandle):
        return f"batch {value.number}"
    if isinstance(value, Barrier):
        kind = "" if value.operation.kind == "snapshot" else f" {value.operation.kind}"
        return f"{'unaligned ' if value.unaligned else ''}barrier {value.checkpoint}{kind}"
    if isinstance(value, CancelMarker):
        return f"cancel marker {value.checkpoint}"
    if isinstance(value, SubtaskSnapshot):
        return (
            f"[taken {value.taken}, pieces {len(value.pieces)} since {value.since}{', ended' if value.ended else ''}]"
        )
    if dataclasses.is_dataclass(value) and len(dataclasses.fields(value)) > 3:
        return said(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{words(key)}: {words(each)}" for key, each in value.items()) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(words, value)) + ")" if len(value) < 6 else f"({len(value)} of them)"
    return str(value)


def said(message: Any) -> str:
    """An event or a command."""
    fields = [
        f"{field.name}={words(getattr(message, field.name))}"
        for field in dataclasses.fields(message)
        if field.name not in HIDDEN and getattr(message, field.name) not in (None, (), "", {})
    ]
    about = getattr(message, "subtask", None)
    return f"{type(message).__name__}{f' {about}' if about else ''} {' '.join(fields)}".rstrip()


class Trace:
    """Lines, and the messages behind them for charts."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.entries: list[tuple[float, int, str, Any, tuple[Any, ...]]] = []

    def event(self, now: float, incarnation: int, who: str, event: Any, commands: tuple[Any, ...]) -> None:
        self.entries.append((now, incarnation, who, event, commands))
        self.lines.append(f"{now:9.4f} J{incarnation} {who:10} {said(event)}")
        self.lines.extend(f"{'':25} -> {said(command)}" for command in commands)

    def note(self, now: float, who: str, text: str) -> None:
        self.lines.append(f"{now:9.4f}    {who:10} {text}")
