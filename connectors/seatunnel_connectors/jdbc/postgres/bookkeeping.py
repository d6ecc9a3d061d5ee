"""Commits that have only books to keep: their rows are in the target already, or stay where they are staged until the
last one. Of all tables of a schema in one transaction, in as many statements as for one.

Rules. (1) The ledger is asked first, its rows locked (I38); whose is done takes no part. (2) All or nothing: one table
whose units are lost, or that a newer driver has, fails them all, for nobody here knows which of them can go on without
it. (3) A commit waits for the server's disk, also where the rows are seen already: nobody keeps these books again, and
the records of units that came back would stay. (4) A driver that stands still in the middle (stopped, its machine
frozen) does not keep the ledger's rows from the one that takes over: the server ends its session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from seatunnel_connectors.jdbc import crash_points
from seatunnel_connectors.jdbc.postgres import staged
from seatunnel_connectors.jdbc.postgres.ledger import LEDGER, PIECES
from seatunnel_connectors.jdbc.postgres.plan import SHADOW, STAGED, Load
from seatunnel_connectors.jdbc.postgres.session import Statements, literal, quote
from seatunnel_connectors.jdbc.recorded import data_ids, lives
from seatunnel_py.api import CommitContext, FatalError, NoWayOn, Piece

# Another session that holds one table's row must not keep the other tables.
LOCK_SECONDS = 5
# Between two messages of a commit nothing but the driver itself takes time.
STILL_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Entry:
    """One table's commit. ``taken_off`` are units whose records nobody needs any longer, ``marked`` those whose records
    stay, as part of this checkpoint; ``lives``: of each vertex the newest life, by which the writers of older ones are
    refused; ``seen``: the rows are in the target itself; ``ends``: no record is needed any longer."""

    shown: str
    table: str
    token: str
    context: CommitContext
    rows: int
    taken_off: tuple[str, ...] = ()
    marked: tuple[str, ...] = ()
    lives: tuple[tuple[str, int, int], ...] = ()
    seen: bool = False
    ends: bool = False

    @property
    def row(self) -> tuple[str, str]:
        """What names it in the ledger, beside the lineage."""
        return self.context.step, self.table


def entry_of(load: Load, table: str, pieces: Sequence[Piece], context: CommitContext) -> Entry:
    """What is to be kept of these pieces. Of units that write to the target itself only late attempts need the record
    once it is in a checkpoint."""
    names, rows = data_ids(pieces), sum(piece.rows for piece in pieces)
    newest = tuple((vertex, *life) for vertex, life in lives(pieces).items())
    entry = Entry(f"{load.schema}.{load.table}", table, load.token, context, rows, lives=newest)
    if load.how in (SHADOW, STAGED):
        return replace(entry, marked=tuple(names), lives=newest if load.how == STAGED else ())
    contested = set(data_ids([piece for piece in pieces if piece.data["contested"]]))
    plain = tuple(name for name in names if name not in contested)
    return replace(entry, taken_off=plain, marked=tuple(sorted(contested)), seen=True, ends=context.final)


def keep(db: Statements, schema: str, entries: Sequence[Entry], then: Callable[[], None] = lambda: None) -> None:
    """One transaction for all of them, and for what comes ``then``; one message, but for what has to be dropped with
    it. FatalError names the table that the others had to wait for."""
    todo = list(entries)
    while todo:
        db.execute(f"BEGIN; SET LOCAL idle_in_transaction_session_timeout = '{STILL_SECONDS}s'".encode(), prepare=False)
        try:
            done = _kept(db, schema, todo)
            if not done:
                then()
        except BaseException:
            db.execute("ROLLBACK")
            raise
        crash_points.POSTGRES_INSIDE.hit()
        db.execute("ROLLBACK" if done else "COMMIT")
        todo = [entry for entry in todo if entry.row not in done] if done else []


def _kept(db: Statements, schema: str, entries: Sequence[Entry]) -> set[tuple[str, str]]:
    """The tables of which the ledger says that they are done: then nothing else counts."""
    tables = _Tables(schema, entries)
    named = [entry for entry in entries if entry.taken_off or entry.marked]
    ended = [entry for entry in entries if entry.ends]
    older = [entry for entry in entries if entry.lives]
    script = [
        *([f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'"] if len(entries) > 1 else []),
        tables.lock(),
        *([tables.take_off(named)] if named else []),
        *([tables.forget_overtaken(older)] if older else []),
        *([tables.forget(ended)] if ended else []),
        tables.record(),
    ]
    cursor = db.execute(";\n".join(script).encode(), prepare=False)
    while cursor.description is None:  # settings
        cursor.nextset()
    if done := _done(entries, cursor.fetchall()):
        return done
    if named:
        cursor.nextset()
        _all_there(named, dict(cursor.fetchall()))
    dropped = []
    if older:
        cursor.nextset()
        dropped = [name for (name,) in cursor.fetchall() if name]
    while cursor.nextset():
        pass
    if cursor.rowcount != len(entries):
        raise fenced_off(", ".join(entry.shown for entry in entries))
    staged.drop(db, schema, dropped)
    return set()


def _done(entries: Sequence[Entry], rows: Iterable[tuple[str, str, int | None, int]]) -> set[tuple[str, str]]:
    """FatalError where the ledger knows a newer driver."""
    wanted = {entry.row: entry for entry in entries}
    done = set()
    for step, table, checkpoint, incarnation in rows:
        entry = wanted[step, table]
        if incarnation > entry.context.incarnation:
            raise fenced_off(entry.shown)
        if checkpoint is not None and checkpoint >= entry.context.checkpoint:
            done.add(entry.row)
    return done


def _all_there(entries: Iterable[Entry], found: dict[str, int]) -> None:
    """FatalError where a unit that was written has left no record."""
    for entry in entries:
        wanted = len(entry.taken_off) + len(entry.marked)
        missing = wanted - found.get(entry.token, 0)
        if missing:
            raise NoWayOn(
                f"table {entry.shown}: {missing} of {wanted} units that were written are not in the target's records: "
                "they are lost",
                "run the job again with --fresh",
            )


def fenced_off(shown: str) -> FatalError:
    """The answer to a driver whose time is over."""
    return FatalError(f"table {shown}: a newer run of this job has taken over; this one is fenced off")


@dataclass(frozen=True, slots=True)
class _Tables:
    """The statements about all these tables; a driver has one lineage, incarnation and job id for all of them."""

    schema: str
    entries: Sequence[Entry]

    @property
    def _who(self) -> CommitContext:
        return self.entries[0].context

    def lock(self) -> str:
        """In one order, so that no two sessions ever wait for one another: checkpoint of this set-up, incarnation."""
        wanted = (f"({literal(one.context.step)}, {literal(one.table)}, {literal(one.token)})" for one in self.entries)
        return f"""
            SELECT l.step, l.table_name, CASE WHEN l.token = w.token THEN l.last_checkpoint END, l.incarnation
            FROM {quote(self.schema, LEDGER)} l JOIN (VALUES {", ".join(wanted)}) AS w (step, table_name, token)
            ON l.step = w.step AND l.table_name = w.table_name
            WHERE l.lineage = {literal(self._who.lineage)} ORDER BY l.step, l.table_name FOR UPDATE OF l
        """

    def take_off(self, entries: Iterable[Entry]) -> str:
        """How many records each table had, by token. One that stays is from now on of the life that has named it, for
        attempts of that one may still come."""
        named = (
            f"({literal(one.token)}, {literal(name)}, {one.context.checkpoint}, {str(stays).lower()}, {life})"
            for one in entries
            for life in [", ".join(map(str, max((life for _, *life in one.lives), default=[0, 0])))]
            for names, stays in ((one.taken_off, False), (one.marked, True))
            for name in names
        )
        pieces = quote(self.schema, PIECES)
        later = "(w.incarnation, w.epoch) > (p.incarnation, p.epoch)"
        return f"""
            WITH w (token, data_id, checkpoint, stays, incarnation, epoch) AS (VALUES {", ".join(named)}),
                 gone AS (DELETE FROM {pieces} p USING w
                          WHERE p.token = w.token AND p.data_id = w.data_id AND NOT w.stays RETURNING p.token),
                 kept AS (UPDATE {pieces} p SET checkpoint = coalesce(p.checkpoint, w.checkpoint),
                              incarnation = CASE WHEN {later} THEN w.incarnation ELSE p.incarnation END,
                              epoch = CASE WHEN {later} THEN w.epoch ELSE p.epoch END
                          FROM w WHERE p.token = w.token AND p.data_id = w.data_id AND w.stays RETURNING p.token)
            SELECT token, count(*) FROM (SELECT token FROM gone UNION ALL SELECT token FROM kept) AS one GROUP BY token
        """

    def forget_overtaken(self, entries: Iterable[Entry]) -> str:
        """What older lives of a vertex have left; answers the tables. Of rows that are seen the record of a late
        attempt, which cannot come any more once it is in a checkpoint; before that the unit may be read again. Of
        staged ones what no checkpoint has named: a piece of a later life is in one, and all that older ones had in
        theirs is marked by then, or is about to be."""
        newest = (
            f"({literal(one.token)}, {literal(vertex)}, {incarnation}, {epoch}, {str(one.seen).lower()})"
            for one in entries
            for vertex, incarnation, epoch in one.lives
        )
        return f"""
            DELETE FROM {quote(self.schema, PIECES)} p
            USING (VALUES {", ".join(newest)}) AS w (token, vertex, incarnation, epoch, seen)
            WHERE p.token = w.token AND p.vertex = w.vertex AND (p.checkpoint IS NOT NULL) = w.seen
            AND (p.incarnation, p.epoch) < (w.incarnation, w.epoch) RETURNING p.staged
        """

    def forget(self, entries: Iterable[Entry]) -> str:
        tokens = ", ".join(literal(one.token) for one in entries)
        return f"DELETE FROM {quote(self.schema, PIECES)} WHERE token IN ({tokens})"

    def record(self) -> str:
        """Write the checkpoints into the ledger; a row that is not affected is a newer driver's."""
        who = self._who
        same = f"{literal(who.lineage)}, {literal(who.job_id)}, {who.incarnation}, 0"
        rows = (
            f"({same}, {literal(one.context.step)}, {literal(one.table)}, {literal(one.token)}, "
            f"{one.context.checkpoint}, {one.rows}, {str(one.context.final).lower()})"
            for one in self.entries
        )
        return f"""
            INSERT INTO {quote(self.schema, LEDGER)} AS l
                (lineage, job_id, incarnation, epoch, step, table_name, token, last_checkpoint, rows, finished)
            VALUES {", ".join(rows)}
            ON CONFLICT (lineage, step, table_name) DO UPDATE
            SET last_checkpoint = excluded.last_checkpoint, token = excluded.token,
                rows = excluded.rows + CASE WHEN l.token = excluded.token THEN l.rows ELSE 0 END,
                incarnation = greatest(l.incarnation, excluded.incarnation),
                finished = excluded.finished, committed_at = now()
            WHERE l.incarnation <= excluded.incarnation
        """
