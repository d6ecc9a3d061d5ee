"""State tables as mermaid diagrams."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from seatunnel_py.protocol.model.lifecycle import Table, has_ended

S = TypeVar("S", bound=StrEnum)
E = TypeVar("E", bound=StrEnum)


def mermaid(table: Table[S, E]) -> str:
    """The table as the text of a mermaid state diagram."""
    start = next(iter(table))
    lines = ["stateDiagram-v2", f"    [*] --> {start.name}"]
    for state, row in table.items():
        lines += [f"    {state.name} --> {after.name}: {event}" for event, after in row.items()]
    lines += [f"    {state.name} --> [*]" for state in table if has_ended(table, state)]
    return "\n".join(lines) + "\n"
