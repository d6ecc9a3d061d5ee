"""Alters a target that is written by statements for a changed schema, and gives the load of later units.

Rules. (1) All staged rows are in the target by then, so the staging table is made again for the new columns. (2) A
database whose ALTER ends a transaction gets one statement for all columns; what it has done already is not done again.
(3) If the database gives an altered table another id, the ledger learns it: no later table of the name may be taken for
this one. (4) Only the newest driver empties a target (I34). It announces itself in the ledger first: in the
same transaction, or under the lock (``TargetDialect.alone``) under which a newer driver announces itself, as some
databases end a transaction before they empty a table.
"""

from __future__ import annotations

from seatunnel_connectors.jdbc.dialect import SinkRequest
from seatunnel_connectors.jdbc.statements.ledger_tables import LEDGER, StatementLedger
from seatunnel_connectors.jdbc.statements.load_plan import StatementLoad
from seatunnel_connectors.jdbc.statements.staged import Staged
from seatunnel_connectors.jdbc.statements.target_dialect import StatementSession, TargetDialect, TargetTable
from seatunnel_connectors.jdbc.target.alteration import REMEDY, Alteration, alteration_of
from seatunnel_connectors.jdbc.target.load_decision import SHADOW, STAGED
from seatunnel_connectors.jdbc.target.target_plan import target_name
from seatunnel_py.api import Column, CommitContext, FatalError, Kind, SchemaChange

_QUOTED = frozenset({Kind.STRING, Kind.DATE, Kind.TIME, Kind.TIMESTAMP})
_NUMBERS = frozenset({Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.DECIMAL, Kind.FLOAT, Kind.DOUBLE})


def alter(
    dialect: TargetDialect, request: SinkRequest, session: StatementSession, change: SchemaChange, load: StatementLoad
) -> TargetTable:
    """Alter the target, and return its new state. Raises FatalError if it cannot follow."""
    if load.how == SHADOW:
        raise FatalError(f"{load.shown} is filled beside its place until the job ends", REMEDY)
    target = dialect.look(session, load.database, load.table)
    if not target.exists:
        raise FatalError(f"the sink table {load.shown} is gone", REMEDY)
    case = request.options.field_ide
    actions = alteration_of(change, lambda column: target_name(column, case), target.columns)
    for statement in _statements(dialect, load, target, actions):
        session.run(statement)
    return dialect.look(session, load.database, load.table)


def truncate(dialect: TargetDialect, request: SinkRequest, load: StatementLoad, context: CommitContext) -> None:
    """Remove all rows of the target. Raises FatalError if a newer driver has the job (rule 4)."""
    if load.how == SHADOW:
        raise FatalError(f"{load.shown} is filled beside its place until the job ends", "wait for the end of its copy")
    relation, upstream = dialect.quote(*filter(None, (load.database, load.table))), str(request.table.path)
    with dialect.explained(f"emptying the sink table {load.shown}"), dialect.sessions(request.address) as session:
        was_set_up = bool(load.books) and dialect.is_there(session, load.database, LEDGER)
        with dialect.alone(session, load.database, load.table):
            session.begin()
            if was_set_up:
                books = StatementLedger(dialect, load.database, load.token, upstream)
                books.announce(session, context, load.shown)
            session.run(dialect.empty(relation))
            session.commit()
        if was_set_up:
            take_up(dialect, session, load, upstream)


def take_up(dialect: TargetDialect, session: StatementSession, load: StatementLoad, upstream: str) -> None:
    """Make the staging table for the new columns, and note the id that the target has now."""
    if load.how == STAGED:
        staged = Staged(dialect, load)
        session.run(staged.drop())
        for statement in staged.create():
            session.run(statement)
    if load.told_by and load.books:
        books = StatementLedger(dialect, load.database, load.token, upstream)
        books.move(session, dialect.table_id(session, load) or "")


def _statements(dialect: TargetDialect, load: StatementLoad, target: TargetTable, actions: Alteration) -> list[str]:
    table = f"ALTER TABLE {dialect.quote(*filter(None, (load.database, load.table)))}"
    parts = [f"RENAME COLUMN {dialect.quote(old)} TO {dialect.quote(new)}" for old, new in actions.renamed]
    parts += [f"DROP COLUMN {dialect.quote(name)}" for name in actions.dropped]
    for one in actions.added:
        kind = dialect.created_type(one.column, in_key=False, alone=False, features=target.features)
        parts.append(f"ADD COLUMN {dialect.quote(one.name)} {kind}{_default(dialect, one.name, one.column)}")
    for name, column in actions.widened:
        kind = dialect.created_type(column, in_key=False, alone=False, features=target.features)
        parts.append(dialect.retyped(name, kind, nullable=target.columns[_earlier(name, actions)].nullable))
    for name in actions.made_nullable:
        if name not in {one for one, _ in actions.widened}:
            parts.append(dialect.retyped(name, target.columns[_earlier(name, actions)].shown, nullable=True))
    if dialect.alters_at_once and parts:
        return [f"{table} {', '.join(parts)}"]
    return [f"{table} {part}" for part in parts]


def _earlier(name: str, actions: Alteration) -> str:
    return next((old for old, new in actions.renamed if new == name), name)


def _default(dialect: TargetDialect, name: str, column: Column) -> str:
    """The value of earlier rows as a default, which later rows do not need."""
    if column.default is None:
        return ""
    text, kind = str(column.default), column.dtype.kind
    if kind is Kind.BOOLEAN:
        return f" DEFAULT {int(text.lower() in ('t', 'true', '1'))}"
    if kind in _NUMBERS and text.replace(".", "").lstrip("-+").isdigit():
        return f" DEFAULT {text}"
    if kind in _QUOTED:
        return f" DEFAULT {dialect.literal(text)}"
    raise FatalError(
        f"column {name!r} was added with the value {text!r} in earlier rows, which has no default of its type there",
        REMEDY,
    )
