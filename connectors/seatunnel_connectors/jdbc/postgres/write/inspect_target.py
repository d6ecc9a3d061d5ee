"""Inspects the target: one query for a missing table, three more for an existing one."""

from __future__ import annotations

from dataclasses import dataclass, field

from seatunnel_connectors.jdbc.postgres.connection import catalog
from seatunnel_connectors.jdbc.postgres.connection.session import Statements, quote
from seatunnel_connectors.jdbc.postgres.connection.types import NativeType, digits_of, length_of, read_as
from seatunnel_connectors.jdbc.postgres.ledger.ledger_tables import LEDGER, PIECES
from seatunnel_connectors.jdbc.postgres.read import row_security
from seatunnel_connectors.jdbc.target.target_plan import TargetColumn, counting, no_table

PLAIN = "r"
"""The kind of a table without partitions in pg_class."""

_TABLES = (PLAIN, "p")
_OTHERS = {
    "v": "a view", "m": "a materialized view", "f": "a foreign table", "S": "a sequence", "i": "an index",
    "I": "an index", "c": "a composite type",
}  # fmt: skip

_LOOK = f"""
    SELECT s.name, n.oid IS NOT NULL,
           CASE WHEN n.oid IS NULL THEN has_database_privilege(current_database(), 'CREATE')
                ELSE has_schema_privilege(n.oid, 'CREATE') END,
           EXISTS (SELECT 1 FROM pg_class l WHERE l.relnamespace = n.oid AND l.relname = %(ledger)s)
           AND EXISTS (SELECT 1 FROM pg_class l WHERE l.relnamespace = n.oid AND l.relname = %(pieces)s),
           c.oid, pg_relation_filenode(c.oid), c.relkind::text, current_setting('max_prepared_transactions')::int,
           coalesce(c.relrowsecurity AND row_security_active(c.oid), false)
    FROM (SELECT coalesce(nullif(%(schema)s, ''), {catalog.OWN_SCHEMA}) AS name) s
    LEFT JOIN pg_namespace n ON n.nspname = s.name
    LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = %(table)s
"""
_MORE = """
    SELECT ({}),
           (SELECT reltuples::bigint FROM pg_class WHERE oid = %(oid)s),
           ARRAY(SELECT attname::text FROM pg_attribute
                 WHERE attrelid = %(oid)s AND attnum > 0 AND (atthasdef OR attidentity <> '')),
           ARRAY(SELECT attname::text FROM pg_attribute
                 WHERE attrelid = %(oid)s AND attnum > 0 AND (attgenerated <> '' OR attidentity = 'a')),
           ARRAY(SELECT DISTINCT 'view ' || r.ev_class::regclass::text
                 FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid AND d.classid = 'pg_rewrite'::regclass
                 WHERE d.refobjid = %(oid)s AND r.ev_class <> %(oid)s
                 UNION ALL
                 SELECT 'foreign key of ' || conrelid::regclass::text FROM pg_constraint
                 WHERE contype = 'f' AND confrelid = %(oid)s AND conrelid <> %(oid)s),
           EXISTS (SELECT 1 FROM pg_trigger WHERE NOT tgisinternal AND tgtype & 7 = 7 AND (tgrelid = %(oid)s{})),
           EXISTS (SELECT 1 FROM pg_rewrite WHERE ev_class = %(oid)s AND ev_type = '3'),
           (SELECT json_agg(json_build_array(conname, pg_get_expr(conbin, conrelid),
                            ARRAY(SELECT attname::text FROM pg_attribute
                                  WHERE attrelid = conrelid AND attnum = ANY (conkey))) ORDER BY conname)
            FROM pg_constraint WHERE conrelid = %(oid)s AND contype = 'c'),
           (SELECT json_object_agg(attname, format('%%I.%%I', n.nspname, c.collname))
            FROM pg_attribute JOIN pg_collation c ON c.oid = attcollation JOIN pg_namespace n ON n.oid = c.collnamespace
            WHERE attrelid = %(oid)s AND attnum > 0 AND to_jsonb(c)->>'collisdeterministic' = 'false')
"""
_OR_PARTITION = " OR tgrelid IN (SELECT relid FROM pg_partition_tree(%(oid)s))"


@dataclass(frozen=True, slots=True)
class CheckConstraint:
    """A CHECK constraint; ``columns`` are the columns in it."""

    name: str
    expression: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """State of a target. ``oid`` 0: the table does not exist; ``file`` changes when the table is truncated. ``counted``
    is the number of rows (up to ``target_plan.COUNTED_MAX``), ``estimate`` that of the statistics. ``keys`` are the
    column lists of its unique indexes; ``collations``: by column, those under which different texts are equal.
    ``dependents`` would prevent dropping it. ``changes_rows``: a trigger or a rule may change a row before it is
    checked, or the check happens elsewhere (a partition). ``triggered``: a trigger of it, or of a partition, may skip
    rows."""

    schema: str
    table: str
    schema_exists: bool
    may_create: bool
    has_books: bool
    oid: int = 0
    file: int = 0
    kind: str = ""
    counted: int = 0
    estimate: int = 0
    columns: dict[str, TargetColumn] = field(default_factory=dict)
    natives: dict[str, NativeType] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)
    keys: tuple[tuple[str, ...], ...] = ()
    dependents: tuple[str, ...] = ()
    prepared_max: int = 0
    checks: tuple[CheckConstraint, ...] = ()
    changes_rows: bool = False
    triggered: bool = False
    collations: dict[str, str] = field(default_factory=dict)

    @property
    def exists(self) -> bool:
        return self.oid != 0

    @property
    def has_rows(self) -> bool:
        return self.counted > 0

    @property
    def own_rows(self) -> str:
        """The table without rows of inheriting tables, which do not belong to this target. For statements."""
        relation = quote(self.schema, self.table)
        return f"ONLY {relation}" if self.kind == PLAIN else relation


def look(db: Statements, schema: str, table: str) -> Target:
    """Inspect the relation of that name. Raise FatalError if it is not a table, or hides rows."""
    names = {"schema": schema, "table": table, "ledger": LEDGER, "pieces": PIECES}
    row = db.execute(_LOOK, names).fetchone()
    assert row is not None
    seen = Target(
        row[0], table, row[1], row[2], bool(row[3]), row[4] or 0, row[5] or 0, row[6] or "", prepared_max=row[7]
    )
    if seen.exists and seen.kind not in _TABLES:
        raise no_table(f"{seen.schema}.{table}", _OTHERS.get(seen.kind, f"a relation of the kind {seen.kind!r}"))
    if row[8]:
        raise row_security.of_target(f"{seen.schema}.{table}", db.info.user)
    return _more(db, seen) if seen.exists else seen


def _more(db: Statements, seen: Target) -> Target:
    found = catalog.FoundTable(seen.oid, seen.schema, seen.table, seen.kind, -1, 0, 0, True)
    catalog.fill_columns(db, [found])
    counted = counting(seen.own_rows).replace("%", "%%")  # a name may contain one
    more = _MORE.format(counted, "" if seen.kind == PLAIN else _OR_PARTITION)
    row = db.execute(more.encode(), {"oid": seen.oid}).fetchone()
    assert row is not None
    counted, estimate, filled, generated, dependents, triggered, ruled, checks, collations = row
    columns = {}
    for column in found.columns:
        mapped = read_as(column.native)
        columns[column.name] = TargetColumn(
            column.name, mapped[0] if mapped else None, column.shown, column.nullable, column.name in filled,
            length_of(column.native), column.name in generated, digits_of(column.native),
        )  # fmt: skip
    return Target(
        seen.schema, seen.table, seen.schema_exists, seen.may_create, seen.has_books, seen.oid, seen.file, seen.kind,
        counted, estimate, columns, {column.name: column.native for column in found.columns},
        {column.name: column.shown for column in found.columns},
        tuple(key for _, key, _ in found.keys), tuple(dependents), seen.prepared_max,
        tuple(CheckConstraint(name, expression, tuple(names)) for name, expression, names in checks or ()),
        triggered or ruled or seen.kind != PLAIN, triggered, collations or {},
    )  # fmt: skip
