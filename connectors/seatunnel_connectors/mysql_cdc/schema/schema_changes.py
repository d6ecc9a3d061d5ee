"""Describes a statement of the log as a change of a table's schema, or as the reason why the table stops.

Rules. (1) Earlier rows have the default of an added column, or that of its type if it takes no nulls; an expression
gives them other values, which the log does not show. (2) A type that is not wider changes earlier values without row
events. (3) The definition of the position travels with the schema: the log is decoded under it after a restart.
"""

from __future__ import annotations

import re
from dataclasses import replace

from seatunnel_connectors.mysql_cdc.failures import TableLogError
from seatunnel_connectors.mysql_cdc.log_split import definition_of, definition_plain
from seatunnel_connectors.mysql_cdc.schema.definitions import ColumnDefinition, DecodeOptions, TableDefinition
from seatunnel_connectors.mysql_cdc.schema.history import TableChange, TableChangeKind
from seatunnel_py.api import (
    COPY_AGAIN,
    Column,
    Kind,
    SchemaChange,
    SchemaEvent,
    SchemaPolicy,
    SourceTable,
    TableSchema,
    TableStopped,
    TableTruncated,
    is_widened,
)

DEFINITION = "definition"
"""Key of ``SourceTable.log_hints``."""
FOLLOW = f"set schema-changes.enabled = true, with a behavior that follows changes of columns; or {COPY_AGAIN}"
_NUMBERS = frozenset({Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.DECIMAL, Kind.FLOAT, Kind.DOUBLE})
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d+)?)?|\d\d:\d\d:\d\d(\.\d+)?")
_PARTITION = re.compile(r"\bPARTITION", re.I)
_COMPUTED = re.compile(r"\bAS\s*\(|\bAUTO_INCREMENT\b", re.I)


class _StopError(Exception):
    """The table has to stop for this reason."""


def hinted(table: SourceTable) -> TableDefinition | None:
    """The definition that a change has left at the position of the log."""
    plain = table.log_hints.get(DEFINITION)
    return None if plain is None else definition_of(plain)


def element_of(
    change: TableChange, table: SourceTable, options: DecodeOptions, policy: SchemaPolicy
) -> SchemaChange | TableTruncated | TableStopped | None:
    """The change as an element of the log, without an end; None if rows are as before. ``policy``: of the changes that
    the job follows."""
    planned = table.schema
    if change.cause is not None:
        return TableStopped(planned.path, change.cause.message, change.cause.remedy)
    if change.kind is TableChangeKind.TRUNCATED:
        if not policy.stops:
            return TableTruncated(planned.path, change.statement)
        return TableStopped(planned.path, f"table {planned.path} was truncated: {change.statement}", FOLLOW)
    if change.after is None:
        return TableStopped(planned.path, f"table {planned.path} {_gone(change)}: {change.statement}", COPY_AGAIN)
    try:
        after = change.after.as_schema(options)
    except TableLogError as error:
        return TableStopped(planned.path, f"{error.message}: {change.statement}", error.remedy)
    same = change.before is not None and _as_decoded(change.before) == _as_decoded(change.after)
    if change.needs_refresh and (same or _PARTITION.search(change.statement)):
        text = f"rows of table {planned.path} may be gone without a word in the log: {change.statement}"
        return TableStopped(planned.path, text, COPY_AGAIN)
    if same:
        return None
    if (after.columns, after.key) == (planned.columns, planned.key) and change.before is None:
        return None  # it was made again as it was planned
    made = SchemaChange(
        planned.path, planned, after, change.version, change.statement, None, dict(change.renamed_columns),
        {DEFINITION: definition_plain(change.after)},
    )  # fmt: skip
    try:
        if policy.stops:
            raise _StopError(f"the schema of table {planned.path} has changed: {change.statement}")
        return replace(made, after=_followed(change, planned, after, policy))
    except _StopError as stop:
        return replace(made, stops=(str(stop), FOLLOW if policy.stops else COPY_AGAIN))


def _gone(change: TableChange) -> str:
    if change.kind is TableChangeKind.DROPPED:
        return "was dropped at the source"
    if change.new_name is not None:
        return f"was renamed to {'.'.join(change.new_name)} at the source"
    return f"was changed in a way that cannot be followed ({change.kind})"


def _as_decoded(definition: TableDefinition) -> object:
    """The part of a definition that rows depend on."""
    columns = [(one.name, one.column_type, one.charset, one.words, one.nullable) for one in definition.columns]
    return columns, definition.key


def _followed(change: TableChange, planned: TableSchema, after: TableSchema, policy: SchemaPolicy) -> TableSchema:
    """The new schema, with the values of earlier rows in added columns, as far as the targets get them."""
    assert change.after is not None, "it is still there"
    if change.kind is not TableChangeKind.ALTERED or change.before is None:
        raise _StopError(f"table {planned.path} was made again: {change.statement}")
    before_names = {new: old for old, new in change.renamed_columns.items()}
    columns = []
    for column, defined in zip(after.columns, change.after.columns, strict=True):
        earlier = planned.column(before_names.get(column.name, column.name))
        if earlier is None:
            value = _earlier_value(column, defined, change.statement) if policy.fills_added else None
            columns.append(replace(column, default=value))
            continue
        declared = change.before.columns[change.before.column(earlier.name)]
        if declared.charset != defined.charset != "utf8mb4" or not set(declared.words) <= set(defined.words):
            raise _StopError(f"column {column.name!r} may have lost values of earlier rows: {change.statement}")
        same = (earlier.dtype, earlier.length, earlier.scale) == (column.dtype, column.length, column.scale)
        follows = policy.applies(SchemaEvent.ALTER_COLUMN_TYPE)
        if follows and not same and not is_widened(earlier, column):
            raise _StopError(f"column {column.name!r} has a type that may change earlier values: {change.statement}")
        columns.append(column)
    key = tuple(change.renamed_columns.get(name, name) for name in planned.key)
    if key != after.key and planned.primary_key is not None and planned.primary_key.proved:
        raise _StopError(f"table {planned.path} has another key: {change.statement}")
    if set(key) - set(after.names):
        raise _StopError(f"table {planned.path} has lost a column of its key: {change.statement}")
    primary = planned.primary_key
    return replace(
        after, columns=tuple(columns), options=planned.options,
        primary_key=None if primary is None else replace(primary, columns=key),
    )  # fmt: skip


def _earlier_value(column: Column, defined: ColumnDefinition, statement: str) -> str | None:
    """The value of earlier rows in an added column (rule 1)."""
    unknown = _StopError(
        f"column {column.name!r} was added, and the log does not hold its value in earlier rows: {statement}"
    )
    if _COMPUTED.search(statement):
        raise unknown
    text, kind = defined.default, column.dtype.kind
    if text is None:
        if column.nullable:
            return None
        if kind in _NUMBERS or kind is Kind.STRING:
            return "0" if kind in _NUMBERS else ""
        raise unknown
    if kind is Kind.BOOLEAN and text.upper() in ("TRUE", "FALSE", "0", "1"):
        return "true" if text.upper() in ("TRUE", "1") else "false"
    if kind in _NUMBERS and _NUMBER.fullmatch(text):
        return text
    if kind is Kind.STRING and not text.endswith(")") and not text.upper().startswith("CURRENT_"):
        return text
    if kind in (Kind.DATE, Kind.TIME, Kind.TIMESTAMP) and _MOMENT.fullmatch(text):
        return text
    raise unknown
