"""Reports what the supervisor does with runs, in the transactions in which it does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from seatunnel_py.control.notify.event_kinds import OF_END, EventKind
from seatunnel_py.control.notify.notice import Notice, NoticedRun, NoticedTable, failed_tables
from seatunnel_py.control.notify.notice_writer import NoticeWriter
from seatunnel_py.control.restart_policy import RunEnd
from seatunnel_py.control.run_index import RunIndex
from seatunnel_py.control.run_row import RunRow
from seatunnel_py.control.store.intents import Intent, StartKind
from seatunnel_py.control.store.outbox import notice_cursors
from seatunnel_py.control.store.wishes import Wish
from seatunnel_py.errors import SeaTunnelError

_TABLES_MAX = 1_000


@dataclass(frozen=True, slots=True)
class RunNotes:
    """Reports through ``writer``."""

    writer: NoticeWriter
    index: RunIndex

    def begun(self, connection: Connection, intent: Intent, row: RunRow | None) -> None:
        """A driver has its run."""
        if not self.writer.active:
            return
        kind = EventKind.RUN_RESTORED if intent.kind is StartKind.RESTORE else EventKind.RUN_STARTED
        self.writer.write(connection, Notice(kind, noticed(intent, row), f"intent {intent.id}"))

    def ended(
        self, connection: Connection, intent: Intent, row: RunRow | None, end: RunEnd, wish: Wish, *, restores: bool
    ) -> None:
        """A driver has ended, or did not begin. ``wish``: as it is now; ``restores``: another one follows."""
        if not self.writer.active:
            return
        new = row is not None and row.driver != intent.previous_driver
        if row is not None:
            self._note(connection, row)
        of = noticed(intent, row if new else None)
        kind, key = OF_END[end.kind], f"intent {intent.id}"
        more = {"end": end.kind.value, "is_restored": restores, "failures": wish.failures}
        cause = "" if kind is EventKind.RUN_SUCCEEDED else end.cause or end.kind.value
        tables = tables_of(self.index, intent.run) if new else ()
        self.writer.write(connection, Notice(kind, of, key, cause, remedy_of(tables), tables, more))
        if wish.held:
            remedy = f"look at its cause; then POST /api/v1/definitions/{intent.definition}/release restores it"
            self.writer.write(connection, Notice(EventKind.RUN_GAVE_UP, of, key, wish.held, remedy))

    def lost(self, connection: Connection, intent: Intent) -> None:
        """A start came to nothing, and is not asked for again."""
        cause = "its start was lost several times: no driver has come"
        self.writer.write(
            connection, Notice(EventKind.RUN_GAVE_UP, noticed(intent, None), f"intent {intent.id}", cause)
        )

    def _note(self, connection: Connection, row: RunRow) -> None:
        """The observer does not report this end again."""
        before = notice_cursors.of_run(connection, row.run)
        notice_cursors.keep(connection, replace(before, ended=row.driver), self.writer.now())


def noticed(intent: Intent, row: RunRow | None) -> NoticedRun:
    """The run of an intent."""
    return NoticedRun(intent.run, intent.definition, intent.revision, row)


def tables_of(index: RunIndex, run: str) -> Sequence[NoticedTable]:
    """The tables of a run that have failed, from the receipt of its driver; none if that cannot be read."""
    place = index.place(run)
    receipt: Mapping[str, Any] | None = None
    if place is not None:
        with suppress(SeaTunnelError, OSError):
            receipt = place.receipt
    with suppress(KeyError, TypeError, AttributeError):
        return failed_tables(receipt)[:_TABLES_MAX]
    return ()


def remedy_of(tables: Sequence[NoticedTable]) -> str:
    """The remedy of the first failure."""
    return next((one.remedy for one in tables if one.remedy), "")
