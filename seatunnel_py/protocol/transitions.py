"""How a transition table is read: state x event -> state, as literal data in ``lifecycle.py``.

Rules. (X1) What a table does not hold is forbidden: asking for it is a mistake of ours and raises. (X2) Every state has
a row; an empty row is an end, and nothing leaves an end (I12). (X3) The first row is the start.

May not know: what any state means.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeAlias, TypeVar

from seatunnel_py.protocol.errors import OurMistake

S = TypeVar("S", bound=StrEnum)
E = TypeVar("E", bound=StrEnum)
Table: TypeAlias = Mapping[S, Mapping[E, S]]


def advance(table: Table[S, E], state: S, event: E) -> S:
    """The next state. Raises OurMistake for what the table does not hold (X1)."""
    row = table[state]
    if event not in row:
        allowed = ", ".join(row) or "nothing: it is an end"
        raise OurMistake(f"{type(state).__name__}: {event} cannot happen when {state}; what can is {allowed}")
    return row[event]


def has_ended(table: Table[S, E], state: S) -> bool:
    """Nothing leaves this state (X2)."""
    return not table[state]


def mermaid(table: Table[S, E]) -> str:
    """The table as the text of a mermaid state diagram (X3)."""
    start = next(iter(table))
    lines = ["stateDiagram-v2", f"    [*] --> {start.name}"]
    for state, row in table.items():
        lines += [f"    {state.name} --> {after.name}: {event}" for event, after in row.items()]
    lines += [f"    {state.name} --> [*]" for state in table if has_ended(table, state)]
    return "\n".join(lines) + "\n"
