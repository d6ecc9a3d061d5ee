"""Commits tables whose rows need no work: they are in the target already, or stay staged until the last commit. All
tables of a schema take one transaction, with as many statements as one table.

Rules. (1) The ledger is read first, its rows locked (I38); a table that is already committed is skipped. (2) All or
nothing: one table whose units are lost, or that a newer driver owns, fails all of them, because this level cannot
decide which ones may proceed alone. (3) A commit waits for the server's disk, even if the rows are visible already:
these entries are never written again, and the records of units would otherwise stay. (4) The target's records are
compared with the reports of the units, and the table that holds their rows with the one that has the target's name: any
difference is LOST, and everything is rolled back. (5) A driver that stalls in the middle (stopped, or on a frozen
machine) cannot block the ledger's rows for its successor: the server ends its session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from seatunnel_connectors.jdbc import failpoints
from seatunnel_connectors.jdbc.postgres.connection.session import Statements
from seatunnel_connectors.jdbc.postgres.ledger import staged
from seatunnel_connectors.jdbc.postgres.ledger.ledger_entries import Entry, EntryStatements
from seatunnel_connectors.jdbc.postgres.ledger.ledger_tables import OID, PIECES, PostgresLedger
from seatunnel_connectors.jdbc.target import conservation
from seatunnel_py.api import CannotResumeError, CommitContext, FatalError

# Another session with a lock on one table's row must not block the other tables.
LOCK_SECONDS = 5
# Between two messages of a commit nothing but the driver itself takes time.
STILL_SECONDS = 20


def keep(db: Statements, schema: str, entries: Sequence[Entry], then: Callable[[], None] = lambda: None) -> None:
    """Run one transaction for all entries and for the statements of ``then``, in one message, except for tables to be
    dropped with it. Raises FatalError that names the table which blocked the others."""
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
        failpoints.POSTGRES_INSIDE.hit()
        db.execute("ROLLBACK" if done else "COMMIT")
        todo = [entry for entry in todo if entry.row not in done] if done else []


def _kept(db: Statements, schema: str, entries: Sequence[Entry]) -> set[tuple[str, str]]:
    """Tables that the ledger shows as committed already; nothing else needs checking for them."""
    tables = EntryStatements(schema, entries)
    named = [entry for entry in entries if entry.names_units]
    ended = [entry for entry in entries if entry.ends]
    showing = [entry for entry in entries if entry.shows]
    going = [entry for entry in showing if entry.names_units and not entry.context.final]
    older = [entry for entry in entries if entry.lives]
    script = [
        *([f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'"] if len(entries) > 1 else []),
        tables.lock(),
        *([tables.places(showing)] if showing else []),
        *([tables.take_off(named)] if named else []),
        *([tables.forget_overtaken(older)] if older else []),
        *([tables.forget(ended)] if ended else []),
        *([tables.remember(going)] if going else []),
        tables.record(),
    ]
    cursor = db.execute(";\n".join(script).encode(), prepare=False)
    while cursor.description is None:  # skip the results of settings
        cursor.nextset()
    if done := _done(entries, cursor.fetchall()):
        return done
    places: dict[str, TargetIdentity] = {}
    if showing:
        cursor.nextset()
        places = {token: TargetIdentity(now, before) for token, now, before in cursor.fetchall()}
    held: dict[str, UnitTotals] = {}
    if named:
        cursor.nextset()
        held = {token: UnitTotals(units, rows, places) for token, units, rows, places in cursor.fetchall()}
        _all_there(named, held)
    for entry in showing:
        _same_table(db, entry, places[entry.token], held.get(entry.token, NOTHING))
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
    """Tables that are already committed. Raise FatalError if the ledger has a newer driver."""
    wanted = {entry.row: entry for entry in entries}
    done = set()
    for step, table, checkpoint, incarnation in rows:
        entry = wanted[step, table]
        if incarnation > entry.context.incarnation:
            raise fenced_off(entry.shown)
        if checkpoint is not None and checkpoint >= entry.context.checkpoint:
            done.add(entry.row)
    return done


@dataclass(frozen=True, slots=True)
class UnitTotals:
    """The target's records of one table's units: number of units, number of rows, and tables with the rows."""

    units: int
    rows: int
    places: Sequence[str | None]


@dataclass(frozen=True, slots=True)
class TargetIdentity:
    """The table with the target's name ``now``, and the one with the rows of earlier commits."""

    now: str | None
    before: str | None


NOTHING = UnitTotals(0, 0, ())


def _all_there(entries: Iterable[Entry], found: dict[str, UnitTotals]) -> None:
    """Raise FatalError if a written unit has no record, or one with another row count."""
    for entry in entries:
        held = found.get(entry.token, NOTHING)
        wanted = len(entry.taken_off) + len(entry.marked)
        if missing := wanted - held.units:
            raise CannotResumeError(
                f"table {entry.shown}: {missing} of {wanted} units that were written are not in the target's records: "
                "they are lost",
                entry.load.restart_remedy,
            )
        if held.rows != entry.rows:
            raise conservation.lost_rows(
                entry.shown, f"{wanted} units, according to {entry.load.schema}.{PIECES}", entry.rows, held.rows,
                entry.load.restart_remedy,
            )  # fmt: skip


def _same_table(db: Statements, entry: Entry, place: TargetIdentity, held: UnitTotals) -> None:
    """Raise FatalError if rows of this run are in another table than the one that has the target's name now."""
    wrote = {one for one in (*held.places, place.before) if one and one.startswith(OID)}
    others = sorted(int(one.removeprefix(OID)) for one in wrote - {place.now})
    if not others:
        return
    names = [name for (name,) in db.execute("SELECT oid::regclass::text FROM pg_class WHERE oid = ANY(%s)", [others])]
    if names:
        raise conservation.renamed(entry.shown, ", ".join(names))
    raise conservation.other_table(entry.shown, there=place.now is not None, remedy=entry.load.restart_remedy)


def announce(db: Statements, books: PostgresLedger, context: CommitContext, shown: str) -> None:
    """Announce this driver, and lock the ledger's row until the transaction ends, so that a newer driver waits. Raise
    FatalError if one has announced itself already."""
    fence = books.raise_fence(context.job_id, context.lineage, context.step, context.incarnation, 0)
    db.execute(fence.encode())
    row = db.execute(books.lock(context.lineage, context.step).encode()).fetchone()
    if row is None or row[1] > context.incarnation:
        raise fenced_off(shown)


def fenced_off(shown: str) -> FatalError:
    """The error for a driver that has been replaced."""
    return FatalError(f"table {shown}: a newer run of this job has taken over; this one is fenced off")
