"""Gives tables the keys that ``table-names-config`` declares for them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace

from seatunnel_connectors.jdbc.source.findings import Found
from seatunnel_connectors.jdbc.target.sink_key import LOGGED_BY_KEY
from seatunnel_connectors.postgres_cdc.options import TableConfig
from seatunnel_py.api import FatalError, PrimaryKey, SourceTable, TablePath


def whole_path(name: str, database: str) -> TablePath:
    """The path of a table, in that database unless it names one. Raises ValueError."""
    path = TablePath.parse(name, schema_first=True)
    return path if path.database else replace(path, database=database)


def declared_keys(entries: Sequence[TableConfig], database: str, found: Sequence[Found]) -> list[Found]:
    """The tables with the keys that are declared for them, also in place of their own. Raises FatalError for an entry
    that fits none."""
    declared = {whole_path(entry.table, database): entry.primary_keys for entry in entries}
    known = [one.schema.path if isinstance(one, SourceTable) else one.path for one in found]
    for path in declared:
        if path not in known:
            near = difflib.get_close_matches(str(path), list(map(str, known)), n=1)
            raise FatalError(
                f"table-names-config holds {path}, which this step does not read",
                f"write {near[0]}" if near else "correct its name, or take it out",
            )
    return [_keyed(one, declared.get(one.schema.path, ())) if isinstance(one, SourceTable) else one for one in found]


def _keyed(table: SourceTable, columns: tuple[str, ...]) -> SourceTable:
    schema = table.schema
    if not columns:
        return table
    missing = [name for name in columns if schema.column(name) is None]
    if missing:
        raise FatalError(
            f"table {schema.path}: table-names-config declares the key {', '.join(columns)}, but its columns are "
            f"{', '.join(schema.names)}",
            "correct primaryKeys",
        )
    if schema.primary_key is not None and set(schema.primary_key.columns) == set(columns):
        return table
    return replace(table, schema=replace(schema, primary_key=PrimaryKey(columns, proved=False)))


def logged_by_key(table: SourceTable) -> SourceTable:
    """The table, marked for sinks if its log names rows by its key; without a key it holds whole rows."""
    schema = table.schema
    if schema.primary_key is None:
        return table
    return replace(table, schema=replace(schema, options={**schema.options, LOGGED_BY_KEY: "true"}))
