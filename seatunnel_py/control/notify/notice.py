"""A notice: what has happened to a run, and the event that is made of it. Pure.

Rules. (1) The id of an event follows from what it reports: the same facts that are found twice are one event. (2) No
row of data is in an event. A cause is one line, without secrets. (3) At most ``TABLES_MAX`` tables are listed; the
others are counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from seatunnel_py.control.notify.event_kinds import SENTENCES, EventKind
from seatunnel_py.control.run_row import RunRow
from seatunnel_py.control.store.outbox.outbox_events import OutboxEvent
from seatunnel_py.errors import first_line
from seatunnel_py.redaction import redacted_plain, redacted_text

TABLES_MAX = 20
VERSION = 1
_GOOD = frozenset({"DONE", "RUNNING", "PENDING", "RETRYING", "COMMITTING"})


@dataclass(frozen=True, slots=True)
class NoticedTable:
    """A table that has failed, or waits. ``change``: the id of the change of its schema that waits."""

    table: str
    state: str
    cause: str = ""
    remedy: str = ""
    change: str = ""


@dataclass(frozen=True, slots=True)
class NoticedRun:
    """The run of a notice. ``definition``, ``revision``: None: it was started by hand; ``row``: None: no driver has
    made its directory."""

    run: str
    definition: str | None = None
    revision: int | None = None
    row: RunRow | None = None

    @property
    def job(self) -> str:
        """The name of its job; without one: its definition, or the run."""
        return (self.row.job_name if self.row is not None else "") or self.definition or self.run

    @property
    def subject(self) -> str:
        """The subject that recovers: the definition, or the job of a file."""
        if self.definition is not None:
            return f"definition {self.definition}"
        return f"job {self.job} of {self.row.job_file if self.row is not None else ''}"


@dataclass(frozen=True, slots=True)
class Notice:
    """``key``: which of its kind it is, within the run; ``cause``: in one line; ``more``: further facts, JSON-ready;
    ``covered_by``: the kind of another event that reports these tables, too."""

    kind: EventKind
    of: NoticedRun
    key: str
    cause: str = ""
    remedy: str = ""
    tables: Sequence[NoticedTable] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    covered_by: EventKind | None = None

    @property
    def id(self) -> str:
        """The id of its event."""
        return event_id(self.kind.value, self.of.run, self.key)

    @property
    def sameness(self) -> str:
        """Equal for notices that report the same of a run again: the cause, and the tables."""
        return event_id(self.of.run, first_line(self.cause), *sorted(f"{one.table} {one.state}" for one in self.tables))


def event_id(*parts: str) -> str:
    """An id that follows from these parts."""
    return "evt_" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def event_of(notice: Notice, at: float, page: str) -> OutboxEvent:
    """The event of a notice. ``page``: the address of the server's page."""
    of, row = notice.of, notice.of.row
    data: dict[str, Any] = {
        "summary": f"{of.job}: {SENTENCES[notice.kind]}",
        "run": of.run,
        "job": of.job,
        "definition": of.definition,
        "revision": of.revision,
        "driver": row.driver or None if row is not None else None,
        "state": row.state if row is not None else None,
        "exit_code": row.exit_code if row is not None else None,
        "tables": dict(row.tables or {}) if row is not None else {},
        "rows_read": row.rows_read if row is not None else None,
        "cause": first_line(notice.cause) or None,
        "remedy": first_line(notice.remedy) or None,
        "failed_tables": [_table(one) for one in notice.tables[:TABLES_MAX]],
        "more_tables": max(0, len(notice.tables) - TABLES_MAX),
        "link": f"{page}/jobs/{quote(of.run, safe='')}" if page and row is not None else None,
        **notice.more,
    }
    return _event(notice.id, notice.kind, of, at, data)


def test_event(at: float, key: str, target: str) -> OutboxEvent:
    """The event that tries a target."""
    of = NoticedRun("")
    data = {"summary": f"seatunnel: {SENTENCES[EventKind.TEST]} of the target {target}", "run": None, "job": None}
    return _event(event_id(EventKind.TEST.value, target, key), EventKind.TEST, of, at, data)


def _event(id: str, kind: EventKind, of: NoticedRun, at: float, data: Mapping[str, Any]) -> OutboxEvent:
    body = {"type": kind.value, "version": VERSION, "id": id, "timestamp": iso(at), "data": redacted_plain(data)}
    return OutboxEvent(id, kind.value, of.run, of.definition or "", of.job, at, body)


def iso(at: float) -> str:
    """A time in UTC with milliseconds."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def failed_tables(receipt: Mapping[str, Any] | None) -> Sequence[NoticedTable]:
    """The tables of a receipt that are not done, each with its cause, or with that of a target."""
    return list(_failed((receipt or {}).get("tables", ())))


def _failed(tables: Iterable[Mapping[str, Any]]) -> Iterable[NoticedTable]:
    for table in tables:
        parts = [table, *table.get("targets", ())]
        worst = next((one for one in parts if one.get("state") not in (None, *_GOOD)), None)
        if worst is None:
            continue
        cause = worst.get("cause") or table.get("cause") or {}
        about = str(cause.get("message", "")), str(cause.get("remedy", ""))
        yield NoticedTable(str(table["table"]), str(worst["state"]), *about)


def _table(one: NoticedTable) -> dict[str, Any]:
    about = {"table": one.table, "state": one.state, "cause": first_line(redacted_text(one.cause)) or None}
    return {**about, "remedy": first_line(one.remedy) or None, **({"change": one.change} if one.change else {})}
