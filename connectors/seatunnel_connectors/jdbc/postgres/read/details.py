"""Reads the parts of a table's definition besides columns and keys from the catalog, and creates them again if
requested. Definitions are in the server's own words, so that they mean the same in another PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from seatunnel_connectors.jdbc.postgres.connection.session import Statements, literal, quote
from seatunnel_connectors.jdbc.postgres.write import ddl
from seatunnel_py.api import Detail, DetailKind

if TYPE_CHECKING:
    from seatunnel_connectors.jdbc.postgres.connection.catalog import FoundTable

DIALECT = "postgres"

_COLUMNS = """
    SELECT a.attrelid, a.attname, a.attidentity <> '', a.attgenerated <> '', pg_get_expr(d.adbin, d.adrelid),
           t.typtype::text, format_type(a.atttypid, a.atttypmod), q.next
    FROM pg_attribute a
    JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    LEFT JOIN LATERAL (
        SELECT coalesce(CASE WHEN has_sequence_privilege(s.seqrelid, 'SELECT')
                             THEN pg_sequence_last_value(s.seqrelid) + s.seqincrement END, s.seqstart) AS next
        FROM pg_depend p JOIN pg_sequence s ON s.seqrelid = p.objid
        WHERE p.classid = 'pg_class'::regclass AND p.refclassid = 'pg_class'::regclass
          AND p.refobjid = a.attrelid AND p.refobjsubid = a.attnum AND p.deptype IN ('i', 'a') LIMIT 1) q ON true
    WHERE a.attrelid = ANY(%s) AND a.attnum > 0 AND NOT a.attisdropped
      AND (d.oid IS NOT NULL OR a.attidentity <> '' OR t.typtype IN ('e', 'd'))
    ORDER BY a.attrelid, a.attnum
"""
_NAMES = """
    ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = {} AND a.attnum = ANY ({}) ORDER BY a.attnum)
"""
_CONSTRAINTS = f"""
    SELECT c.conrelid, c.conname, c.contype::text, pg_get_constraintdef(c.oid),
           {_NAMES.format("c.conrelid", "c.conkey")}
    FROM pg_constraint c WHERE c.conrelid = ANY(%s) AND c.contype IN ('c', 'f', 'x') ORDER BY c.conrelid, c.conname
"""
_INDEXES = f"""
    SELECT i.indrelid, c.relname, pg_get_indexdef(i.indexrelid), {_NAMES.format("i.indrelid", "i.indkey::int2[]")}
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = ANY(%s) AND NOT i.indisprimary AND NOT i.indisexclusion
      AND NOT (i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL)
    ORDER BY i.indrelid, c.relname
"""
_ORIGINS = """
    SELECT c.oid, 'p', pg_get_partkeydef(c.oid)
    FROM pg_class c WHERE c.oid = ANY(%(oids)s) AND c.relkind = 'p'
    UNION ALL
    SELECT i.inhrelid, 'i', i.inhparent::regclass::text
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhrelid = ANY(%(oids)s) AND NOT c.relispartition
    ORDER BY 1, 2, 3
"""
_CONSTRAINT_KINDS = {"c": DetailKind.CHECK, "f": DetailKind.FOREIGN_KEY, "x": DetailKind.EXCLUSION}


def fill_details(db: Statements, tables: Iterable[FoundTable]) -> None:
    """The details of the tables, in four queries."""
    by_oid = {table.oid: table for table in tables if table.kind in ("r", "p", "m")}
    if not by_oid:
        return
    for oid, name, identity, generated, default, kind, shown, following in db.execute(_COLUMNS, [list(by_oid)]):
        by_oid[oid].details += _of_column(name, identity, generated, default, kind, shown, following)
    for oid, name, kind, definition, columns in db.execute(_CONSTRAINTS, [list(by_oid)]):
        by_oid[oid].details.append(Detail(_CONSTRAINT_KINDS[kind], name, tuple(columns), definition, DIALECT))
    for oid, name, definition, columns in db.execute(_INDEXES, [list(by_oid)]):
        by_oid[oid].details.append(Detail(DetailKind.INDEX, name, tuple(columns), definition, DIALECT))
    for oid, kind, name in db.execute(_ORIGINS, {"oids": list(by_oid)}):
        what = DetailKind.PARTITIONING if kind == "p" else DetailKind.INHERITANCE
        by_oid[oid].details.append(Detail(what, name, (), name, DIALECT))


def _of_column(
    name: str, identity: bool, generated: bool, default: str | None, kind: str, shown: str, following: int | None
) -> list[Detail]:
    found = []
    if kind in ("e", "d"):
        found.append(Detail(DetailKind.TYPE, name, (name,), shown, DIALECT))
    if generated:
        found.append(Detail(DetailKind.GENERATED, name, (name,), default or "", DIALECT))
    elif identity or (default and following is not None and "nextval(" in default):
        found.append(Detail(DetailKind.IDENTITY, name, (name,), str(following or 1), DIALECT))
    elif default is not None:
        found.append(Detail(DetailKind.DEFAULT, name, (name,), default, DIALECT))
    return found


def statements(schema: str, name: str, details: Sequence[Detail], prefix: str) -> list[str]:
    """Statements that create the details again; each can be repeated without effect. ``prefix`` begins index names,
    which must be unique in a schema."""
    relation = quote(schema, name)
    return [_statement(relation, one, prefix, at) for at, one in enumerate(details)]


def _statement(relation: str, one: Detail, prefix: str, at: int) -> str:
    match one.kind:
        case DetailKind.DEFAULT:
            return f"ALTER TABLE {relation} ALTER COLUMN {quote(one.name)} SET DEFAULT {one.definition}"
        case DetailKind.IDENTITY:
            column = quote(one.name)
            there = (
                f"SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass({literal(relation)}) "
                f"AND attname = {literal(one.name)} AND attidentity <> ''"
            )
            return _unless(
                there,
                f"ALTER TABLE {relation} ALTER COLUMN {column} SET NOT NULL, ALTER COLUMN {column} "
                f"ADD GENERATED BY DEFAULT AS IDENTITY (START WITH {int(one.definition)})",
            )
        case DetailKind.CHECK:
            there = (
                f"SELECT 1 FROM pg_constraint WHERE conrelid = to_regclass({literal(relation)}) "
                f"AND conname = {literal(one.name)}"
            )
            return _unless(there, f"ALTER TABLE {relation} ADD CONSTRAINT {quote(one.name)} {one.definition}")
        case _:
            unique, how = ("UNIQUE " if " UNIQUE " in one.definition[:20] else ""), _how(one.definition)
            index = ddl.index_name(f"{prefix}_{'_'.join(one.columns) or 'expression'}", f"_ix{at}")
            return f"CREATE {unique}INDEX IF NOT EXISTS {quote(index)} ON {relation} USING {how}"


def _how(definition: str) -> str:
    """The text after USING in an index's definition; quoted names before it may contain that word, too."""
    bare = re.compile(r'"(?:[^"]|"")*"').sub(lambda match: "x" * len(match[0]), definition)
    return definition[bare.index(" USING ") + len(" USING ") :]


def _unless(there: str, statement: str) -> str:
    return "DO " + literal(f"BEGIN IF NOT EXISTS ({there}) THEN {statement}; END IF; END")


def can_be_made(one: Detail, names: Mapping[str, str]) -> bool:
    """True if its definition has the same meaning in a table whose columns have these names."""
    return one.dialect == DIALECT and all(names.get(name) == name for name in one.columns)
