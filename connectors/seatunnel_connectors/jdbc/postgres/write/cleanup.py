"""Removes leftovers beside the target of a job's earlier runs, when the job restarts from scratch.

Rules. (1) First the ledger ends these runs, so that their writers are refused; then their leftovers are removed. (2) A
run is known by the ledger's rows of this job, step and table, and by the record of its set-up. Names alone are not
enough. (3) The ledger knows the runs until ``Committer.begin`` makes it forget them: an interrupted sweep is repeated.
"""

from __future__ import annotations

from seatunnel_connectors.jdbc.postgres.connection.session import Statements, quote
from seatunnel_connectors.jdbc.postgres.ledger import staged
from seatunnel_connectors.jdbc.postgres.ledger.ledger_tables import PostgresLedger
from seatunnel_connectors.jdbc.postgres.write import prepared
from seatunnel_connectors.jdbc.postgres.write.load_plan import Load
from seatunnel_connectors.jdbc.target import conservation
from seatunnel_connectors.jdbc.target.unit_record import of_job
from seatunnel_py.api import CommitContext, counted

LOCK_SECONDS = 10  # for the lock of a table that a writer is just filling: its transaction ends soon


def sweep(db: Statements, load: Load, books: PostgresLedger, context: CommitContext) -> list[str]:
    """Return sentences for the receipt: what was removed, and what stays visible."""
    known: dict[str, int] = dict(db.execute(books.end_others(context).encode()).fetchall())
    job = of_job(context.job_id, context.step, books.table)
    tokens = sorted({*known, *(token for (token,) in db.execute(books.set_up_by(job).encode()))})
    if not tokens:
        return []
    not_counted: dict[str, int] = dict(db.execute(books.not_counted(tokens).encode()).fetchall())
    transactions = prepared.roll_back_runs(db, tokens)
    tables = _drop(db, load, books, tokens)
    said = conservation.removed({"prepared transaction": transactions, "staging table": len(tables)})
    shadows = {token for token in tokens if any(name.endswith(f"__st_{token}") for name in tables)}
    visible = sum(known.get(token, 0) + not_counted.get(token, 0) for token in tokens if token not in shadows)
    if visible and not load.fresh and not (load.key and load.upsert):
        empty = f"TRUNCATE TABLE {quote(load.schema, load.table)}"
        said.append(conservation.still_visible(load.shown, counted(visible, "row"), empty))
    return said


def _drop(db: Statements, load: Load, books: PostgresLedger, tokens: list[str]) -> list[str]:
    db.execute(f"BEGIN; SET LOCAL lock_timeout = '{LOCK_SECONDS}s'".encode(), prepare=False)
    try:
        tables = [name for (name,) in db.execute(books.staged_by(tokens).encode())]
        staged.drop(db, load.schema, tables)
        db.execute(books.forget_runs(tokens).encode())
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
    return tables
