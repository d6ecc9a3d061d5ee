"""The lineage of a run in the forms of its page: a line for each target table, and one table with equal parts once.

After a step without a declared lineage each column depends on all of the input: a table of 300 columns has 90,000 uses.
So the source columns of a table are numbered, and equal lists of uses stand once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

NAMED = 3
"""Source tables that a line names."""


def line(one: Mapping[str, Any]) -> dict[str, Any]:
    """A target table without its columns. ``masked``: columns that do not show the values that they are made of."""
    columns: Mapping[str, Sequence[Mapping[str, Any]]] = one["columns"]
    sources = sorted({(use["step"], use["table"]) for uses in (*columns.values(), one["rows"]) for use in uses})
    return {
        **{key: one[key] for key in ("key", "step", "target", "table")},
        "columns": len(columns),
        "unknown": len(one["unknown"]),
        "masked": sum(any(use.get("masking") for use in uses) for uses in columns.values()),
        "sources": [{"step": step, "table": table} for step, table in sources[:NAMED]],
        "sources_total": len(sources),
    }


def shared(one: Mapping[str, Any]) -> dict[str, Any]:
    """A target table with all of its columns. ``sources``: the columns that any of them depends on, by step and table;
    ``uses``: different lists of uses, each of which names a source and a column by their numbers; the columns and
    ``rows`` name a list by its number."""
    unknown = set(one["unknown"])
    sources: dict[tuple[str, str], dict[str, int]] = {}
    lists: dict[tuple[Any, ...], int] = {}

    def number(uses: Sequence[Mapping[str, Any]]) -> int:
        found = []
        for use in uses:
            columns = sources.setdefault((use["step"], use["table"]), {})
            at = columns.setdefault(use["column"], len(columns))
            found.append((use["step"], use["table"], at, use["kind"], bool(use.get("masking"))))
        return lists.setdefault(tuple(found), len(lists))

    named: Mapping[str, Sequence[Mapping[str, Any]]] = one["columns"]
    columns = [{"name": name, "uses": number(uses), "unknown": name in unknown} for name, uses in named.items()]
    rows = number(one["rows"])
    places = {key: at for at, key in enumerate(sources)}
    return {
        **{key: one[key] for key in ("key", "step", "target", "table")},
        "sources": [{"step": step, "table": table, "columns": list(of)} for (step, table), of in sources.items()],
        "uses": [
            [
                {"source": places[step, table], "column": at, "kind": kind, "masking": masking}
                for step, table, at, kind, masking in uses
            ]
            for uses in lists
        ],
        "columns": columns,
        "rows": rows,
    }
