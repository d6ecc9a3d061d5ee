"""Decides by which columns a sink knows its rows: decisions that need no connection."""

from __future__ import annotations

from seatunnel_connectors.jdbc.options import JdbcSinkOptions
from seatunnel_py.api import FatalError, TableSchema, name_pattern

LOGGED_BY_KEY = "logged_by_key"
"""Key of ``TableSchema.options`` of tables whose changes come from a log: the row before an update comes only where the
primary key changes."""


def wanted_key(options: JdbcSinkOptions, table: TableSchema) -> tuple[tuple[str, ...], str]:
    """Upstream names of the columns that identify a row, and the option that chose them."""
    for pattern, columns in options.multi_table_config.primary_keys.items():
        if name_pattern(pattern).fullmatch(table.path.table):
            # ${primary_key} beside other columns is filled in as a text of several.
            columns = tuple(
                one for column in columns for one in ([column] if table.column(column) else column.split(","))
            )
            return columns, f"multi_table_config.primary_keys.{pattern!r}"
    return (table.key, "") if options.primary_keys is None else (options.primary_keys, "primary_keys")


EMPTY_KEYS = {"${primary_key}": "primary key", "${unique_key}": "unique key"}
"""Placeholders of columns, which stay as they are written where a table has none."""


def key_of(options: JdbcSinkOptions, table: TableSchema) -> tuple[str, ...]:
    """``wanted_key``'s columns. FatalError names those that do not exist."""
    key, said_by = wanted_key(options, table)
    missing = [name for name in key if table.column(name) is None]
    empty = next((name for name in missing if name in EMPTY_KEYS), None)
    if empty:
        raise FatalError(
            f"table {table.path}: {said_by} holds {empty}, but the table that is read has no {EMPTY_KEYS[empty]}",
            "name its columns, of each such table in multi_table_config.primary_keys; without primary_keys a table "
            "that has a key is written by it, and another one is inserted into",
        )
    if missing:
        raise FatalError(
            f"table {table.path}: {said_by} names {', '.join(missing)}, but its columns are {', '.join(table.names)}",
            f"correct {said_by}",
        )
    primary = table.primary_key.columns if table.primary_key else ()
    if table.options.get(LOGGED_BY_KEY) and not set(key) <= set(primary):
        raise FatalError(
            f"table {table.path}: the sink knows its rows by {', '.join(key)}, but the log holds a row before its "
            f"change only where {', '.join(primary) or 'its key'} changes: rows with earlier values would stay",
            "declare these columns at the source, as primaryKeys in table-names-config; or correct primary_keys of the "
            "sink",
        )
    return key


def key_is_proved(key: tuple[str, ...], table: TableSchema) -> bool:
    """Whether the upstream guarantees that no two rows have the same key; no key needs no proof."""
    primary = table.primary_key
    return not key or bool(primary and primary.proved and set(primary.columns) <= set(key))
