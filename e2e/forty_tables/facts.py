"""What is true of the shop, measured in its catalog by other questions than those that SeaTunnel asks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import psycopg
from psycopg import sql

from e2e.forty_tables.contents import Name, Rows, columns, in_postgres

_TABLES = """
    SELECT n.nspname, c.relname, c.relkind = 'p', has_table_privilege('reader', c.oid, 'SELECT')
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND n.nspname IN ('public', 'hr', 'Sales Dept', 'archive') ORDER BY 1, 2
"""
_KEY = """
    SELECT array_agg(a.attname::text ORDER BY array_position(i.indkey::int2[], a.attnum)) FROM pg_index i
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey::int2[])
    WHERE i.indrelid = %s::regclass AND i.indisunique
    GROUP BY i.indexrelid, i.indisprimary HAVING bool_and(a.attnotnull) ORDER BY i.indisprimary DESC LIMIT 1
"""
_OTHERS = """
    SELECT CASE WHEN c.relispartition THEN 'partition' WHEN c.relkind = 'v' THEN 'view' ELSE 'materialized_view' END,
           format('shop.%s.%s', n.nspname, c.relname)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE (c.relispartition AND c.relkind = 'r' OR c.relkind IN ('v', 'm'))
      AND n.nspname IN ('public', 'hr', 'Sales Dept', 'archive') ORDER BY 2
"""
_DEFINED = """
    SELECT 'identity' FROM pg_attribute WHERE attrelid = %(table)s::regclass AND attidentity <> ''
    UNION ALL SELECT CASE WHEN a.attgenerated <> '' THEN 'generated column'
                          WHEN pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%%' THEN 'identity' ELSE 'default' END
              FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
              WHERE d.adrelid = %(table)s::regclass
    UNION ALL SELECT CASE contype WHEN 'f' THEN 'foreign key' ELSE 'check' END
              FROM pg_constraint WHERE conrelid = %(table)s::regclass AND contype IN ('f', 'c')
    UNION ALL SELECT 'index' FROM pg_index WHERE indrelid = %(table)s::regclass AND NOT indisunique
    UNION ALL SELECT 'type' FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
              WHERE attrelid = %(table)s::regclass AND attnum > 0 AND typtype IN ('e', 'd')
    UNION ALL SELECT 'partitioning' FROM pg_partitioned_table WHERE partrelid = %(table)s::regclass
    UNION ALL SELECT 'inheritance' FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
              WHERE inhrelid = %(table)s::regclass AND NOT relispartition
"""


@dataclass(frozen=True, slots=True, repr=False)
class Table:
    """One table of the shop. ``isolated``: why it cannot be read; empty: it can. ``key``: places of its key's columns.
    ``defined``: what its definition says beside columns, keys and comments, in kinds; ``comments``: how many of these."""

    name: Name
    shown: str
    isolated: str = ""
    types: dict[str, str] = field(default_factory=dict)
    key: tuple[int, ...] = ()
    rows: Rows = field(default_factory=Counter)
    defined: Counter[str] = field(default_factory=Counter)
    comments: int = 0

    def lacks(self, target: str) -> Counter[str]:
        """What a table that is made of it in that kind of place does not have: SQLite keeps no comments."""
        return self.defined + Counter({"comment": self.comments if target == "sqlite" else 0})

    @property
    def count(self) -> int:
        return self.rows.total()


def shown(name: Name) -> str:
    """A table as messages name it: a name with a dot or a quote stands in double quotes."""
    return ".".join(("shop", *map(quoted, name)))


def quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"' if set(name) & set('."') else name


def measured(db: psycopg.Connection) -> dict[str, Table]:
    """All tables of the shop as they are now, by the names that messages have for them."""
    found = {}
    for schema, name, partitioned, readable in db.execute(_TABLES).fetchall():
        table = (schema, name)
        types = columns(db, table)
        named = sql.Identifier(schema, name).as_string(db)
        why = "it has no columns" if not types else "" if readable else f"No SELECT privilege on {schema}.{name}."
        if why:
            found[shown(table)] = Table(table, shown(table), why, types)
            continue
        key = db.execute(_KEY, [named]).fetchone()
        found[shown(table)] = Table(
            table, shown(table), why, types, tuple(map(list(types).index, key[0])) if key else (),
            in_postgres(db, table, types, only=not partitioned),
            Counter(kind for (kind,) in db.execute(_DEFINED, {"table": named})),
        )  # fmt: skip
    return found


def not_tables(db: psycopg.Connection) -> dict[str, list[str]]:
    """What a copy of the whole database leaves out, by kind."""
    found: dict[str, list[str]] = {}
    for kind, name in db.execute(_OTHERS):
        found.setdefault(kind, []).append(name)
    return found
