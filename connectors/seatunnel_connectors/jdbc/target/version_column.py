"""The version column: of two rows with one key it decides the newer one, so that a late older row has no effect.

Rules. (1) Of equal versions the later row wins; a null is older than everything. (2) Deletes are refused: without the
deleted row's version an older row could not be recognised.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from seatunnel_connectors.jdbc.options import JdbcSinkOptions
from seatunnel_connectors.jdbc.target.target_plan import TargetColumn
from seatunnel_py.api import INTEGERS, FatalError, Kind, TableSchema

COMPARED = frozenset({*INTEGERS, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_TZ})
"""Kinds with a natural order in every database; the order of texts depends on a collation."""


def problems(
    options: JdbcSinkOptions,
    table: TableSchema,
    key: Sequence[str],
    names: Mapping[str, str],
    there: Mapping[str, TargetColumn],
    compared: Collection[Kind] = COMPARED,
) -> list[str]:
    """Why ``version_column`` cannot be kept; ``there`` are the target's columns, none where it is yet to be made."""
    name = options.version_column
    if name is None:
        return []
    if not compared:
        return ["version_column: rows of this database are not compared; leave it away"]
    column = table.column(name)
    if column is None:
        return [f"version_column names {name!r}, but the columns are {', '.join(table.names)}"]
    if not key or not options.enable_upsert or name in key:
        return [f"version_column = {name}: rows must be inserted or updated by a key of other columns"]
    target = there.get(names[name])
    kinds = {column.dtype.kind, *([target.dtype.kind] if target is not None and target.dtype is not None else [])}
    if kinds - set(compared):
        known = ", ".join(sorted(kind.value for kind in compared))
        return [f"version_column = {name}: {target.shown if target else column.dtype} is none of {known}"]
    return []


def versioned_by(options: JdbcSinkOptions, names: Mapping[str, str]) -> str:
    """The column's name in the target; empty: rows have no versions."""
    return names[options.version_column] if options.version_column else ""


def on_conflict(columns: Sequence[str], key: Sequence[str], version: str, fixed: Sequence[str] = ()) -> str:
    """End of an INSERT into a table with the alias t and quoted names: replaces an existing row, unless the new one is
    older. The clause sets every column except ``fixed`` ones, those of the key as well: equal keys may differ in their
    writing. PostgreSQL and SQLite share it."""
    changed = [name for name in columns if name not in fixed]
    updates = ", ".join(f"{name} = excluded.{name}" for name in changed) or f"{key[0]} = t.{key[0]}"
    newer = f" WHERE t.{version} IS NULL OR t.{version} <= excluded.{version}" if version else ""
    return f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {updates}{newer}"


def refused(table: str, column: str) -> FatalError:
    """For a row that deletes."""
    return FatalError(
        f"table {table}: a row of kind DELETE does not go with version_column = {column}: an older row that comes late "
        "would bring back what it deletes",
        "make a column of the kind with the RowKindExtractor transform, or leave version_column away",
    )
