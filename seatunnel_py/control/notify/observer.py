"""Looks at runs for what no transaction of the supervisor shows: failures of tables, changes that wait, drivers that
hang, jobs that work again, and the ends of runs that were started by hand.

Rules. (1) A finding, and how far a run was looked at (``NoticeCursor``), are one transaction: after a crash nothing is
missing, and a finding that is made twice has the same id. Without a finding the position stays in memory. (2) Nothing
from before the first target is reported: ``since``. (3) Failures of tables wait for ``group_seconds``, so that an
outage is one event, unless the driver has ended. (4) A run that has ended and was looked at costs nothing more. (5) The
start and the end of a driver that the supervisor has started are reported by ``run_notes.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection

from seatunnel_py.control.notify.event_kinds import OF_OUTCOME, EventKind
from seatunnel_py.control.notify.event_lines import read_on
from seatunnel_py.control.notify.log_findings import WANTED, LogFinding, findings
from seatunnel_py.control.notify.notice import Notice, NoticedRun
from seatunnel_py.control.notify.notice_writer import NoticeWriter
from seatunnel_py.control.notify.run_notes import noticed, remedy_of, tables_of
from seatunnel_py.control.notify.trouble_rules import has_recovered
from seatunnel_py.control.run_index import STALLED, RunIndex
from seatunnel_py.control.run_row import RunRow
from seatunnel_py.control.store import intents, settings
from seatunnel_py.control.store.database import Database
from seatunnel_py.control.store.intents import Intent, IntentState
from seatunnel_py.control.store.outbox import deliveries, notice_cursors, outbox_events, target_states, troubles
from seatunnel_py.control.store.outbox.notice_cursors import NoticeCursor

SINCE = "notifications-since"
OLD_SECONDS = 90 * 86_400.0
TIDY_SECONDS = 600.0
_SUPERVISED = (IntentState.STARTING, IntentState.STARTED)


@dataclass(slots=True)
class NoticeObserver:
    """Looks at the runs of ``index``. ``clock``: monotonic seconds."""

    database: Database
    index: RunIndex
    writer: NoticeWriter
    clock: Callable[[], float]
    _settled: dict[str, tuple[str, str]] = field(default_factory=dict)
    _positions: dict[str, str] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)
    _active: bool | None = None
    _since: float | None = None
    _tidied_at: float = float("-inf")

    def turn(self) -> None:
        """Look at all runs. Raises StoreUnwritableError and StoreUnreadableError: the next turn does it."""
        since = self.begin()
        if since is None or self.index.away:
            return
        rows = self.index.rows()
        for row in rows:
            if row.fault or not row.driver or self._settled.get(row.run) == _mark(row):
                continue
            if row.alive or row.started >= since or row.run in self._known:
                self._known.add(row.run)
                self._look(row, since)
            else:
                self._settled[row.run] = _mark(row)
        self._recoveries()
        if self.clock() - self._tidied_at >= TIDY_SECONDS:
            self._tidy([row.run for row in rows])

    def rest(self) -> None:
        """Another server looks; what it finds is read at the next ``begin``."""
        self._active = None

    def begin(self) -> float | None:
        """Since when events are reported; None: there is no target, and what was looked at is forgotten."""
        active = self.writer.active
        if self._active is active:
            return self._since
        with self.database.reading() as connection:
            known = settings.value(connection, SINCE)
        since = (known or self.writer.now()) if active else None
        if since != known:
            with self.database.writing() as connection:
                settings.keep(connection, SINCE, since)
                notice_cursors.forget_all(connection)
                troubles.forget_old(connection, self.writer.now())
        with self.database.reading() as connection:
            self._known = set(notice_cursors.runs(connection))
        self._settled, self._positions = {}, {}
        self._active, self._since = active, since
        return since

    def _look(self, row: RunRow, since: float) -> None:
        place = self.index.place(row.run)
        if place is None:
            return
        with self.database.reading() as connection:
            before = cursor, last = _standing(connection, row.run)
        supervised = last is not None and last.state in _SUPERVISED
        position = self._positions.get(row.run, cursor.position)
        part = read_on(place.events, position, WANTED)
        found = findings(part.lines, since)
        if row.alive and not part.more and self._waits(found):
            found, part = (), replace(part, position=position)
        self._positions[row.run] = part.position
        notices = list(_notices(row, last, found))
        after = replace(cursor, position=part.position if found or part.more or not row.alive else cursor.position)
        if not supervised:
            more, after = self._of_driver(row, last, after, since)
            notices += more
        if row.state == STALLED and cursor.stalled != row.driver:
            after = replace(after, stalled=row.driver)
            notices.append(Notice(EventKind.RUN_STALLED, _run(row, last), row.driver))
        elif row.state != STALLED and row.alive:
            after = replace(after, stalled="")
        if after != cursor and not self._keep(before, replace(after, position=part.position), notices):
            return
        if not row.alive and not part.more and not supervised:
            self._settled[row.run] = _mark(row)

    def _keep(self, before: tuple[NoticeCursor, Intent | None], after: NoticeCursor, notices: Sequence[Notice]) -> bool:
        """Write what was found. False: the supervisor has noted something of this run meanwhile, so it is looked at
        again."""
        kept = False
        try:
            with self.database.writing() as connection:
                if _standing(connection, after.run) == before:
                    for notice in notices:
                        self.writer.write(connection, notice)
                    notice_cursors.keep(connection, after, self.writer.now())
                    kept = True
        finally:
            if not kept:
                self._positions.pop(after.run, None)  # what was found is found again
        return kept

    def _waits(self, found: Sequence[LogFinding]) -> bool:
        """Whether further tables may fail soon (rule 3)."""
        if not found:
            return False
        age = self.writer.now() - min(one.at for one in found)
        return 0 <= age < self.writer.settings().group_seconds

    def _of_driver(
        self, row: RunRow, last: Intent | None, cursor: NoticeCursor, since: float
    ) -> tuple[list[Notice], NoticeCursor]:
        """The start or the end of a driver that was started by hand."""
        if row.alive:
            if row.driver in (cursor.begun, cursor.ended):
                return [], cursor
            kind = EventKind.RUN_RESTORED if cursor.begun or cursor.ended else EventKind.RUN_STARTED
            notices = [Notice(kind, _run(row, last), row.driver)] if row.started >= since else []
            return notices, replace(cursor, begun=row.driver)
        kind_of_end = OF_OUTCOME.get(row.outcome)
        if row.driver == cursor.ended or kind_of_end is None:
            return [], cursor
        tables = tables_of(self.index, row.run)
        cause = "" if kind_of_end is EventKind.RUN_SUCCEEDED else row.cause or row.failed or row.outcome
        notice = Notice(
            kind_of_end, _run(row, last), row.driver, cause, remedy_of(tables), tables, {"end": row.outcome}
        )
        return [notice], replace(cursor, begun=row.driver, ended=row.driver)

    def _recoveries(self) -> None:
        with self.database.reading() as connection:
            opened = troubles.every(connection)
        for trouble in opened:
            row = self.index.row(trouble.run)
            if row is not None and has_recovered(trouble, row):
                with self.database.writing() as connection:
                    if troubles.of_subject(connection, trouble.subject) == trouble:  # it has not failed again meanwhile
                        _, last = _standing(connection, row.run)
                        self.writer.recovered(connection, trouble, _run(row, last))

    def _tidy(self, runs: Sequence[str]) -> None:
        """Forget what is old, and what is of targets that are not in the settings any more."""
        self._tidied_at, now = self.clock(), self.writer.now()
        names = list(self.writer.settings().targets)
        with self.database.writing() as connection:
            self._drop_others(connection, names, now)
            notice_cursors.forget_gone(connection, now - OLD_SECONDS, runs)
            troubles.forget_old(connection, now - OLD_SECONDS)
            deliveries.forget_old(connection, now)
            outbox_events.forget_undelivered(connection)
        there = set(runs)
        self._settled = {run: mark for run, mark in self._settled.items() if run in there}
        self._known &= there
        self._positions = {run: at for run, at in self._positions.items() if run in there - self._settled.keys()}

    def targets_changed(self) -> None:
        """Other targets are in the settings."""
        with self.database.writing() as connection:
            self._drop_others(connection, list(self.writer.settings().targets), self.writer.now())

    @staticmethod
    def _drop_others(connection: Connection, names: Sequence[str], now: float) -> None:
        deliveries.drop_others(connection, names, now)
        target_states.forget_others(connection, names)


def _notices(row: RunRow, last: Intent | None, found: Sequence[LogFinding]) -> Iterator[Notice]:
    """One notice for all tables that have failed, one for each change that waits."""
    end = OF_OUTCOME.get(row.outcome) if row.exit_code is not None else None
    covered = end if end in (EventKind.RUN_FAILED, EventKind.RUN_PARTIAL) else None  # its receipt lists them
    failed = [one for one in found if one.kind is EventKind.TABLE_FAILED]
    if failed:
        tables = [one.table for one in failed]
        key = "; ".join(sorted(f"{one.key} {one.at:.3f}" for one in failed))
        first = tables[0]
        yield Notice(
            EventKind.TABLE_FAILED, _run(row, last), key, first.cause, first.remedy, tables, covered_by=covered
        )
    for one in found:
        if one.kind is EventKind.SCHEMA_WAITS:
            yield Notice(one.kind, _run(row, last), one.key, one.table.cause, one.table.remedy, [one.table])


def _standing(connection: Connection, run: str) -> tuple[NoticeCursor, Intent | None]:
    """How far a run was looked at, and its last start by the server."""
    return notice_cursors.of_run(connection, run), next(iter(intents.of_run(connection, run)), None)


def _run(row: RunRow, last: Intent | None) -> NoticedRun:
    return NoticedRun(row.run, row=row) if last is None else noticed(last, row)


def _mark(row: RunRow) -> tuple[str, str]:
    return row.driver, row.state
