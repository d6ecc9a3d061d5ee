"""Finds in the lines of a run's log what is reported: tables that fail, and changes of schemas that wait. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from seatunnel_py.control.notify.event_kinds import EventKind
from seatunnel_py.control.notify.notice import NoticedTable
from seatunnel_py.errors import first_line
from seatunnel_py.runtime.targets.held_change import APPROVE

WANTED = (b'"event": "table_changed"', b'"event": "sink_left_out"')
_STATES = ("FAILED", "ISOLATED")
_CHANGE = re.compile(rf"{re.escape(APPROVE)} (\w+)")


@dataclass(frozen=True, slots=True)
class LogFinding:
    """``key``: which it is, within the run; ``at``: seconds since 1970."""

    kind: EventKind
    table: NoticedTable
    key: str
    at: float


def findings(lines: Iterable[Mapping[str, Any]], since: float) -> Sequence[LogFinding]:
    """The findings in these lines, from ``since`` on."""
    found: dict[str, LogFinding] = {}
    for line in lines:
        with suppress(KeyError, TypeError, ValueError, AttributeError):  # a line of another version, or damaged
            one = _finding(line)
            if one is not None and one.at >= since:
                found.setdefault(one.key, one)
    return list(found.values())


def _finding(line: Mapping[str, Any]) -> LogFinding | None:
    at = datetime.fromisoformat(line["time"]).timestamp()
    cause = line.get("cause") or {}
    message, remedy = first_line(str(cause.get("message", ""))), str(cause.get("remedy", ""))
    if line["event"] == "sink_left_out":
        table, state = f"{line['table']} into {', '.join(line['targets'])}", "ISOLATED"
    elif line["state"] in _STATES:
        table, state = str(line["table"]), str(line["state"])
    else:
        return None
    match = _CHANGE.search(remedy)
    kind = EventKind.SCHEMA_WAITS if match else EventKind.TABLE_FAILED
    change = match[1] if match else ""
    # A driver that begins again repeats what it has isolated: that is not another failure.
    key = f"{kind.value} {table} {change or message}"
    return LogFinding(kind, NoticedTable(table, state, message, remedy, change), key, at)
