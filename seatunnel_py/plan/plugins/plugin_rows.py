"""The installed plugins as data: all in one list, and one with its options."""

from __future__ import annotations

import difflib
from dataclasses import asdict
from typing import Any

from seatunnel_py.api.options import describe
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.plan.plugins.installed import installed


def plugin_rows() -> list[dict[str, Any]]:
    """All plugins by kind, with their distribution and a line about each."""
    rows = []
    for entry in installed().entries():
        try:
            summary = installed().loaded(entry).summary
        except SeaTunnelError as error:
            summary = f"cannot be loaded: {error.message}"
        rows.append(
            {"kind": entry.kind.value, "name": entry.name, "distribution": entry.distribution, "summary": summary}
        )
    return rows


def plugins_named(name: str) -> list[dict[str, Any]]:
    """The options of every plugin of that name: a source and a sink may share one. Raises SeaTunnelError with the
    nearest name."""
    registry = installed()
    known = {entry.name.lower(): entry.name for entry in registry.entries()}
    if name.lower() not in known:
        near = difflib.get_close_matches(name.lower(), known, n=1)
        remedy = f"did you mean {known[near[0]]!r}? " if near else ""
        ways = "; ".join(("`seatunnel plugins list` shows all of them", *registry.broken))
        raise SeaTunnelError(f"there is no plugin {name!r}", f"{remedy}{ways}")
    found: list[dict[str, Any]] = []
    for entry in registry.entries():
        if entry.name.lower() == name.lower():
            factory: Any = registry.loaded(entry)
            options = [asdict(option) for option in describe(factory.options)]
            found.append({"kind": entry.kind.value, "name": entry.name, "summary": factory.summary, "options": options})
    return found
