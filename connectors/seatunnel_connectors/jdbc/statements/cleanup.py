"""Removes leftovers beside the target of a job's earlier runs, when the job restarts from scratch. The rules are those
of PostgreSQL's clean-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seatunnel_connectors.jdbc.statements.ledger_tables import StatementLedger, UnitRow
from seatunnel_connectors.jdbc.statements.load_plan import StatementLoad
from seatunnel_connectors.jdbc.statements.staged import Staged
from seatunnel_connectors.jdbc.statements.target_dialect import StatementSession, TargetDialect
from seatunnel_connectors.jdbc.target import conservation
from seatunnel_connectors.jdbc.target.unit_record import of_job
from seatunnel_py.api import CommitContext


def sweep(
    session: StatementSession,
    dialect: TargetDialect,
    load: StatementLoad,
    books: StatementLedger,
    context: CommitContext,
) -> Sequence[str]:
    """Sentences to show: deleted leftovers, and rows that stay visible."""
    session.begin()
    known = books.end_others(session, context)
    tokens = sorted({*known, *books.set_up_by(session, of_job(context.job_id, context.step, books.table))})
    session.commit()
    tables, visible = 0, False
    for token in tokens:
        beside = dialect.beside(session, load.database, token)
        visible = visible or _shows(
            books.of(token).held(session), committed=known.get(token, False), beside=bool(beside)
        )
        for name in beside:
            session.run(f"DROP TABLE IF EXISTS {dialect.quote(*filter(None, (load.database, name)))}")
        tables += len(beside)
        session.begin()
        for statement in dialect.unmark(token):
            session.run(statement)
        books.of(token).forget_all(session)
        session.commit()
    said = conservation.removed({"staging table": tables})
    if visible and not load.fresh and not (load.key and load.upsert):
        said.append(conservation.still_visible(load.shown, "rows", dialect.empty(Staged(dialect, load).target)))
    return said


def _shows(held: Mapping[str, UnitRow], *, committed: bool, beside: bool) -> bool:
    """True if rows of a run are in the target. If the run has a table ``beside`` it, only after a commit that records
    the target."""
    if beside:
        return committed and "" in held and bool(held[""].place)
    return committed or any(one.rows for one in held.values())
