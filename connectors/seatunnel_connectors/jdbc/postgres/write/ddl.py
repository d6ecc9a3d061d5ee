"""Builds statements that create, empty and drop tables, each safe to repeat after a crash in the middle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b

from seatunnel_connectors.jdbc.postgres.connection.session import literal, quote
from seatunnel_connectors.jdbc.postgres.connection.types import created_type
from seatunnel_connectors.jdbc.target.table_options import postgres_ending
from seatunnel_py.api import Column, ConstraintType, NameRules, TableSchema

NAME_BYTES_MAX = 63  # PostgreSQL truncates longer names silently
NAMES = NameRules(length_max=NAME_BYTES_MAX)


def is_required(column: Column, key: Sequence[str]) -> bool:
    """True if a created table takes no nulls in this column. The key's columns take none: adding the key later then
    needs no scan."""
    return column.name in key or not column.nullable


def columns_sql(table: TableSchema, names: Mapping[str, str], key: Sequence[str]) -> list[str]:
    """The column definitions."""
    lines = []
    for column in table.columns:
        ending = " NOT NULL" if is_required(column, key) else ""
        lines.append(f"{quote(names[column.name])} {created_type(column)}{ending}")
    return lines


def create_table(
    schema: str, name: str, table: TableSchema, names: Mapping[str, str], key: Sequence[str], *, keyed: bool,
    wanted: Mapping[str, str],
) -> str:  # fmt: skip
    """CREATE TABLE; a table that is being filled has no key yet. ``wanted``: the job file's table_options."""
    lines = columns_sql(table, names, key)
    if keyed and key:
        lines.append(f"PRIMARY KEY ({listed(names[column] for column in key)})")
    ending = postgres_ending(wanted, filling=not keyed)
    return f"CREATE TABLE IF NOT EXISTS {quote(schema, name)} ({', '.join(lines)}){ending}"


def listed(names: object) -> str:
    return ", ".join(quote(name) for name in names)  # type: ignore[attr-defined]  # any iterable of names


def comments(schema: str, name: str, table: TableSchema, names: Mapping[str, str]) -> list[str]:
    found = [f"COMMENT ON TABLE {quote(schema, name)} IS {literal(table.comment)}"] if table.comment else []
    return found + [
        f"COMMENT ON COLUMN {quote(schema, name, names[column.name])} IS {literal(column.comment)}"
        for column in table.columns
        if column.comment
    ]


def indexes(
    schema: str, name: str, table: TableSchema, names: Mapping[str, str], key: Sequence[str], prefix: str
) -> list[str]:
    """The upstream's other unique keys and indexes, under names that belong to the new table."""
    found = []
    for at, constraint in enumerate(table.constraints):
        columns = [column for column, _ in constraint.columns]
        if constraint.type not in (ConstraintType.UNIQUE_KEY, ConstraintType.INDEX_KEY) or list(key) == columns:
            continue
        unique = "UNIQUE " if constraint.type is ConstraintType.UNIQUE_KEY else ""
        parts = ", ".join(
            quote(names[column]) + (" DESC" if order == "DESC" else "") for column, order in constraint.columns
        )
        index = index_name(f"{prefix}_{'_'.join(names[column] for column in columns)}", f"_key{at}")
        found.append(f"CREATE {unique}INDEX IF NOT EXISTS {quote(index)} ON {quote(schema, name)} ({parts})")
    return found


def index_name(name: str, ending: str) -> str:
    """A unique index name: if it is too long, it is cut and a digest replaces the rest."""
    if len(f"{name}{ending}".encode()) <= NAME_BYTES_MAX:
        return name + ending
    return cut(name, f"_{blake2b(name.encode(), digest_size=4).hexdigest()}{ending}")


def cut(name: str, ending: str, room_for: int = 0) -> str:
    """The name with an ending, shortened before the ending so that PostgreSQL keeps it whole, and leaves ``room_for``
    more bytes."""
    room = NAME_BYTES_MAX - len(ending.encode()) - room_for
    return name.encode()[:room].decode(errors="ignore") + ending


def once(schema: str, name: str, statements: Sequence[str]) -> str:
    """Run statements that create a table, if it does not exist. Of two concurrent sessions one waits for the other."""
    body = f"""
        BEGIN
            IF to_regclass({literal(quote(schema, name))}) IS NULL THEN
                PERFORM pg_advisory_xact_lock(hashtextextended({literal(f"{schema}.{name}")}, 0));
                {"; ".join(statements)};
            END IF;
        END
    """
    return "DO " + literal(body)


def only_if(schema: str, name: str, condition: str, statement: str) -> str:
    """Run a statement only while the table is still the planned one: another sink of the same run, or an earlier try,
    may have replaced it already. ``condition`` is about ``c``, its row in pg_class."""
    body = f"""
        BEGIN
            IF EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                       WHERE n.nspname = {literal(schema)} AND c.relname = {literal(name)} AND {condition}) THEN
                {statement};
            END IF;
        END
    """
    return "DO " + literal(body)
