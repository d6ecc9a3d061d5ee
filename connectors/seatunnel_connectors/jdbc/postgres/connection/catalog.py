"""Looks tables up: any number of them in four queries, and queries in two each."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg

from seatunnel_connectors.jdbc.postgres.connection.session import Statements, quote
from seatunnel_connectors.jdbc.postgres.connection.types import NativeType
from seatunnel_py.api import Detail

OURS = re.compile(r"seatunnel_(ledger|piece)|.*__st_[0-9a-f]{8}")
"""Names of this connector's own tables in a target; patterns never match them."""


@dataclass(frozen=True, slots=True)
class FoundColumn:
    """A column. ``full`` is the type with its modifier (for a domain, its base type); ``array_type`` the same without
    the modifier."""

    name: str
    native: NativeType
    shown: str
    nullable: bool
    array_type: str = ""
    comment: str = ""
    table_oid: int = 0
    full: str = ""


@dataclass(slots=True)
class FoundTable:
    """A relation in the catalog. ``keys`` are (name, columns, primary) of its full unique indexes, the primary key
    first; ``pages`` counts blocks now, not at the last ANALYZE. ``inherited``: other tables may inherit from it
    (partitions do not count); ``alone``: it is read without their rows (``read.inheritance``). ``sized``: the size is
    current. ``hides``: policies of row-level security apply to the user."""

    oid: int
    schema: str
    name: str
    kind: str
    rows_then: float
    pages_then: int
    size: int
    readable: bool
    usable: bool = True
    comment: str = ""
    columns: list[FoundColumn] = field(default_factory=list)
    keys: list[tuple[str, tuple[str, ...], bool]] = field(default_factory=list)
    partition: bool = False
    inherited: bool = False
    alone: bool = False
    details: list[Detail] = field(default_factory=list)
    sized: bool = True
    hides: bool = False

    @property
    def pages(self) -> int:
        return self.size // 8192

    @property
    def rows(self) -> int | None:
        """Estimated rows: the density at the last VACUUM or ANALYZE times the present size. None: neither has run
        yet."""
        if self.kind in ("v", "f"):
            return int(self.rows_then) if self.rows_then > 0 else None
        if not self.size:
            return 0 if self.sized else None
        if self.rows_then > 0 and self.pages_then > 0:
            return max(1, int(self.rows_then / self.pages_then * self.pages))
        return int(self.rows_then) if self.kind == "p" and self.rows_then > 0 else None

    @property
    def guess(self) -> int:
        """Number of rows of this width that fit the size."""
        return max(1, self.size // (28 + 12 * len(self.columns))) if self.size else 0


_TABLES = """
    SELECT c.oid, n.nspname, c.relname, c.relkind::text, c.reltuples, c.relpages,
           {},
           has_any_column_privilege(c.oid, 'SELECT') AND has_schema_privilege(n.oid, 'USAGE'),
           has_schema_privilege(n.oid, 'USAGE'),
           obj_description(c.oid, 'pg_class'), c.relispartition, c.relkind = 'r' AND c.relhassubclass,
           c.relrowsecurity AND row_security_active(c.oid)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND {}
    ORDER BY 2, 3
"""
_SIZES = """
    CASE WHEN c.relkind = 'p'
         THEN (SELECT coalesce(sum(pg_relation_size(p.relid)), 0) FROM pg_partition_tree(c.oid) p)
         WHEN c.relkind IN ('r', 'm') THEN pg_relation_size(c.oid) ELSE 0 END
"""
_SIZES_THEN = "CASE WHEN c.relkind IN ('r', 'm') THEN c.relpages::bigint * 8192 ELSE 0 END"
_NAMED = "(n.nspname, c.relname) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"
_ALL = r"n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_%%'"

WITH_DOMAINS = """
    WITH RECURSIVE domains (oid, base, modifier) AS (
        SELECT oid, typbasetype, typtypmod FROM pg_type WHERE typtype = 'd'
        UNION ALL
        SELECT d.oid, t.typbasetype, greatest(d.modifier, t.typtypmod)
        FROM domains d JOIN pg_type t ON t.oid = d.base WHERE t.typtype = 'd'
    ), based AS (
        SELECT d.oid, d.base, d.modifier FROM domains d JOIN pg_type t ON t.oid = d.base WHERE t.typtype <> 'd'
    )
"""
"""``based``: by domain its base type and modifier."""
_COLUMNS = f"""{WITH_DOMAINS}
    SELECT a.attrelid, a.attname, t.typname, coalesce(b.modifier, a.atttypmod), t.typtype::text,
           CASE WHEN t.typcategory = 'A' THEN coalesce(e.typname, '') ELSE '' END,
           format_type(a.atttypid, a.atttypmod), NOT a.attnotnull, format_type(t.oid, -1),
           col_description(a.attrelid, a.attnum), format_type(t.oid, coalesce(b.modifier, a.atttypmod))
    FROM pg_attribute a
    LEFT JOIN based b ON b.oid = a.atttypid
    JOIN pg_type t ON t.oid = coalesce(b.base, a.atttypid)
    LEFT JOIN pg_type e ON e.oid = t.typelem
    WHERE a.attrelid = ANY(%s) AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attrelid, a.attnum
"""

# Only indexes that make whole columns unique: not partial ones, not over expressions, not unfinished ones.
_KEYS = """
    SELECT i.indrelid, c.relname, i.indisprimary,
           ARRAY(SELECT a.attname::text FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k (number, at)
                 JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
                 WHERE k.at <= i.indnkeyatts ORDER BY k.at)
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = ANY(%s) AND i.indisunique AND i.indisvalid AND i.indimmediate
      AND i.indpred IS NULL AND i.indexprs IS NULL
    ORDER BY i.indrelid, NOT i.indisprimary, c.relname
"""

_CORRELATIONS = """
    SELECT s.schemaname, s.tablename, s.attname, s.correlation FROM pg_stats s
    JOIN unnest(%s::text[], %s::text[], %s::text[]) AS w (a, b, c)
      ON s.schemaname = w.a AND s.tablename = w.b AND s.attname = w.c
    WHERE s.correlation IS NOT NULL
"""

_TYPES = """
    SELECT t.oid, t.typname, t.typtype::text,
           CASE WHEN t.typcategory = 'A' THEN coalesce(e.typname, '') ELSE '' END, format_type(t.oid, -1)
    FROM pg_type t LEFT JOIN pg_type e ON e.oid = t.typelem WHERE t.oid = ANY(%s)
"""


def find_tables(db: Statements, names: Sequence[tuple[str, str]] | None) -> dict[tuple[str, str], FoundTable]:
    """The tables of those names; None: all but the system's. Reading a size waits for exclusive locks on the table: if
    there is one, sizes are those of the last VACUUM or ANALYZE."""
    sized = True
    try:
        found = _rows_of_tables(db, names, _SIZES)
    except psycopg.errors.LockNotAvailable:
        found, sized = _rows_of_tables(db, names, _SIZES_THEN), False
    tables = [
        FoundTable(
            oid, schema, name, kind, rows, pages, int(size), readable, usable, comment or "",
            partition=part, inherited=inherited, sized=sized, hides=hides,
        )
        for oid, schema, name, kind, rows, pages, size, readable, usable, comment, part, inherited, hides in found
    ]  # fmt: skip
    return {(table.schema, table.name): table for table in tables}


def _rows_of_tables(db: Statements, names: Sequence[tuple[str, str]] | None, sizes: str) -> list[tuple[Any, ...]]:
    if names is None:
        return db.execute(_TABLES.format(sizes, _ALL).replace("%%", "%").encode()).fetchall()
    parameters = [[schema for schema, _ in names], [table for _, table in names]]
    return db.execute(_TABLES.format(sizes, _NAMED).encode(), parameters).fetchall()


def fill_columns(db: Statements, tables: Iterable[FoundTable]) -> None:
    """Columns and keys of the tables, in two queries."""
    by_oid = {table.oid: table for table in tables}
    if not by_oid:
        return
    for oid, name, typname, modifier, category, element, shown, nullable, base, comment, full in db.execute(
        _COLUMNS, [list(by_oid)]
    ):
        native = NativeType(typname, modifier, category, element)
        by_oid[oid].columns.append(FoundColumn(name, native, shown, nullable, base, comment or "", full=full))
    for oid, name, primary, columns in db.execute(_KEYS, [list(by_oid)]):
        by_oid[oid].keys.append((name, tuple(columns), primary))


def correlations(db: Statements, wanted: Sequence[tuple[str, str, str]]) -> dict[tuple[str, str, str], float]:
    """Correlation between the order of a table's rows and a column: 1 or -1 completely, 0 not at all."""
    if not wanted:
        return {}
    lists: list[list[str]] = [list(part) for part in zip(*wanted, strict=True)]
    return {(a, b, c): float(value) for a, b, c, value in db.execute(_CORRELATIONS, lists)}


OWN_SCHEMA = r"""
    coalesce(current_schema(), (
        SELECT CASE WHEN left(first, 1) = '"' THEN replace(substr(first, 2, length(first) - 2), '""', '"')
                    ELSE nullif(lower(trim(first)), '') END
        FROM (SELECT (regexp_match(current_setting('search_path'), '^ *("(?:[^"]|"")*"|[^,"]+)'))[1] AS first) path
        WHERE first <> '"$user"' AND first <> '$user'), 'public')
"""
"""SQL for the schema of a table that is named without one. If no schema of the search path exists, it is the first one
in it: rows for a schema that is yet to be created must not go to another one."""


def is_there(db: Statements, schema: str, table: str) -> bool:
    """True if a relation of this name exists."""
    return db.execute("SELECT to_regclass(%s)", [quote(schema, table)]).fetchone() != (None,)


def search_path_schema(db: Statements) -> str:
    """The schema of a table that is named without one."""
    row = db.execute(f"SELECT {OWN_SCHEMA}".encode()).fetchone()
    assert row is not None
    return str(row[0])


def current_database(db: Statements) -> str:
    return str(db.info.dbname)


@dataclass(frozen=True, slots=True)
class FoundQuery:
    """A described query. ``table_oid`` is the single table that all columns come from, or 0."""

    columns: tuple[FoundColumn, ...]
    rows: int | None
    table_oid: int


def describe_query(db: Statements, query: str) -> FoundQuery:
    """Columns of a query, without running it, and the planner's estimate of its rows."""
    with db.cursor() as cursor:
        cursor.execute(f"SELECT * FROM (\n{query}\n) AS q LIMIT 0".encode(), prepare=False)
        result = cursor.pgresult
        assert result is not None
        heads = [
            ((result.fname(at) or b"").decode(), result.ftype(at), result.fmod(at), result.ftable(at))
            for at in range(result.nfields)
        ]
        types = {row[0]: row[1:] for row in db.execute(_TYPES, [[oid for _, oid, _, _ in heads]])}
    columns = []
    for name, oid, modifier, table in heads:
        typname, category, element, base = types[oid]
        shown = base if modifier < 0 else _shown(db, oid, modifier)
        native = NativeType(typname, modifier, category, element)
        columns.append(FoundColumn(name, native, shown, True, base, "", table, shown))
    tables = {column.table_oid for column in columns}
    return FoundQuery(tuple(columns), _estimate(db, query), tables.pop() if len(tables) == 1 else 0)


def _shown(db: Statements, oid: int, modifier: int) -> str:
    row = db.execute("SELECT format_type(%s, %s)", [oid, modifier]).fetchone()
    return str(row[0]) if row else ""


def _estimate(db: Statements, query: str) -> int | None:
    try:
        row: Any = db.execute(f"EXPLAIN (FORMAT JSON) {query}".encode()).fetchone()
        return int(row[0][0]["Plan"]["Plan Rows"])
    except (psycopg.Error, LookupError, TypeError):
        return None


def name_of(db: Statements, oid: int) -> tuple[str, str] | None:
    """Schema and name of a relation."""
    row = db.execute(
        "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = %s",
        [oid],
    ).fetchone()
    return (row[0], row[1]) if row else None


def near_names(db: Statements, missing: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """For each missing table the nearest existing name, if one is similar."""
    known: dict[str, list[str]] = defaultdict(list)
    for schema, name in db.execute(  # schemas without tables count, too
        "SELECT n.nspname, c.relname FROM pg_namespace n "
        "LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
    ):
        known[schema] += [name] if name is not None else []
    near = {}
    for schema, name in missing:
        if schema not in known:
            close = difflib.get_close_matches(schema, known, n=1)
            near[schema, name] = f"there is no schema {schema!r}" + (f", but {close[0]!r}" if close else "")
        elif close := difflib.get_close_matches(name, known[schema], n=1):
            near[schema, name] = f"did you mean {schema}.{close[0]}?"
    return near
