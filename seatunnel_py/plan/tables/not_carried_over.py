"""Lists the parts of a source's definition that a created table lacks: each by its name, and in total for a job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seatunnel_py.nouns import counted

NAMES_MAX = 5


def folded(details: Sequence[Mapping[str, Any]]) -> str:
    """``2 defaults (a, b), 1 foreign key (orders_customer)``."""
    groups: dict[str, list[str]] = {}
    for one in details:
        groups.setdefault(one["kind"], []).append(one["name"])
    return ", ".join(
        f"{counted(len(names), kind)} ({', '.join(names[:NAMES_MAX])}{', …' if len(names) > NAMES_MAX else ''})"
        for kind, names in groups.items()
    )


def total(found: Iterable[tuple[str, str]]) -> str:
    """How many parts of how many tables were dropped, from (table, kind) of each; empty: none."""
    pairs = list(found)
    kinds = Counter(kind for _, kind in pairs)
    of = counted(len({table for table, _ in pairs}), "table")
    return f"not carried over from {of}: {', '.join(counted(*one[::-1]) for one in kinds.items())}" if pairs else ""
