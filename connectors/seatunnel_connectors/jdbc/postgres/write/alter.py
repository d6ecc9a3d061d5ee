"""Alters a PostgreSQL target for a changed schema, in one transaction, and plans the load of later units;
empties it where the table was truncated.

Only the newest driver empties a target (I34): it locks the ledger's row in the transaction that removes the rows, and a
newer driver changes that row before any of its own rows are committed. A driver that stalls in between loses its
session, and so the transaction.
"""

from __future__ import annotations

from dataclasses import replace

from seatunnel_connectors.jdbc.dialect import SinkRequest
from seatunnel_connectors.jdbc.postgres.connection import catalog
from seatunnel_connectors.jdbc.postgres.connection.session import Statements, literal, quote
from seatunnel_connectors.jdbc.postgres.connection.types import created_type
from seatunnel_connectors.jdbc.postgres.ledger.ledger_commit import STILL_SECONDS, announce
from seatunnel_connectors.jdbc.postgres.ledger.ledger_tables import LEDGER, PostgresLedger
from seatunnel_connectors.jdbc.postgres.write import plan
from seatunnel_connectors.jdbc.postgres.write.inspect_target import Target, look
from seatunnel_connectors.jdbc.postgres.write.load_plan import load_of
from seatunnel_connectors.jdbc.target.alteration import REMEDY, Alteration, alteration_of
from seatunnel_connectors.jdbc.target.load_decision import SHADOW
from seatunnel_connectors.jdbc.target.target_plan import target_name
from seatunnel_py.api import CommitContext, FatalError, SchemaChange, Setup

LOCK_SECONDS = 3
"""An ALTER waits for readers of the table, and everything else waits for the ALTER."""
LIMITS = {"lock_timeout": LOCK_SECONDS, "idle_in_transaction_session_timeout": STILL_SECONDS}


def alter(db: Statements, request: SinkRequest, change: SchemaChange, setup: Setup) -> Setup:
    """Alter the target; the set-up of later units. Raises FatalError if the target cannot follow."""
    load = load_of(setup.data)
    if load.how == SHADOW:
        raise FatalError(f"{load.shown} is filled beside its place until the job ends", REMEDY)
    case = request.options.field_ide
    target = look(db, load.schema, load.table)
    if not target.exists:
        raise FatalError(f"the sink table {load.shown} is gone", REMEDY)
    actions = alteration_of(change, lambda column: target_name(column, case), target.columns)
    if actions:
        script = [f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'", *statements_of(target, actions)]
        db.execute("; ".join(["BEGIN", *script, "COMMIT"]).encode(), prepare=False)
        target = look(db, load.schema, load.table)
    return plan.planned_again(request, target, setup)


def truncate(db: Statements, setup: Setup, books: PostgresLedger, context: CommitContext) -> None:
    """Remove all rows of the target. Raises FatalError if it has none to remove yet, or a newer driver has the job."""
    load = load_of(setup.data)
    if load.how == SHADOW:
        raise FatalError(f"{load.shown} is filled beside its place until the job ends", "wait for the end of its copy")
    with db.transaction():
        for name, seconds in LIMITS.items():
            db.execute(f"SET LOCAL {name} = '{seconds}s'".encode())
        if load.books and catalog.is_there(db, load.schema, LEDGER):
            announce(db, books, context, load.shown)
        db.execute(f"TRUNCATE TABLE {quote(load.schema, load.table)}".encode())


def statements_of(target: Target, actions: Alteration) -> list[str]:
    """The statements of an alteration."""
    table = f"ALTER TABLE {quote(target.schema, target.table)}"
    found = [f"{table} RENAME COLUMN {quote(old)} TO {quote(new)}" for old, new in actions.renamed]
    found += [f"{table} DROP COLUMN {quote(name)}" for name in actions.dropped]
    for one in actions.added:
        full = created_type(replace(one.column, name=one.name))
        column = quote(one.name)
        if one.column.default is None:
            found.append(f"{table} ADD COLUMN {column} {full}")
            continue
        found.append(f"{table} ADD COLUMN {column} {full} DEFAULT {literal(str(one.column.default))}::{full}")
        found.append(f"{table} ALTER COLUMN {column} DROP DEFAULT")
    for name, column_after in actions.widened:
        full = created_type(column_after)
        found.append(f"{table} ALTER COLUMN {quote(name)} TYPE {full} USING {quote(name)}::{full}")
    found += [f"{table} ALTER COLUMN {quote(name)} DROP NOT NULL" for name in actions.made_nullable]
    return found
