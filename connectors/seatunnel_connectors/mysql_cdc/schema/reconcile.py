"""Completes a definition from the metadata of a table map: character sets, signs and words are the log's own."""

from __future__ import annotations

from dataclasses import replace

from seatunnel_connectors.mysql_cdc.failures import DefinitionMismatchError
from seatunnel_connectors.mysql_cdc.log.charsets import BINARY, charset_of_collation
from seatunnel_connectors.mysql_cdc.log.table_map import TableMap
from seatunnel_connectors.mysql_cdc.schema.definitions import ColumnDefinition, TableDefinition

_TEXT_TYPES = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set")


def reconciled(definition: TableDefinition, table_map: TableMap) -> TableDefinition:
    """Return the definition, corrected by the table map. A sign (unsigned or not) that differs is an error: rows would
    hold other numbers."""
    metadata = table_map.metadata
    if len(definition.columns) != len(table_map.columns) or not (metadata.unsigned or metadata.collations):
        return definition
    columns = tuple(_column(one, table_map, number) for number, one in enumerate(definition.columns))
    if all(one is other for one, other in zip(columns, definition.columns, strict=True)):
        return definition
    return replace(definition, columns=columns)


def _column(column: ColumnDefinition, table_map: TableMap, number: int) -> ColumnDefinition:
    metadata = table_map.metadata
    if metadata.unsigned and metadata.unsigned[number] != column.unsigned and column.data_type != "year":
        if table_map.columns[number].type.name in ("FLOAT", "DOUBLE", "NEWDECIMAL"):
            return column
        raise DefinitionMismatchError(
            f"column {column.name!r} of {table_map.database}.{table_map.table} is declared as {column.column_type}, and"
            " its sign in the log is another",
            "the table was altered: its definition at this position of the log is needed",
        )
    collation = metadata.collations[number] if metadata.collations else 0
    charset = charset_of_collation(collation)
    if charset and charset != BINARY and column.data_type in _TEXT_TYPES and charset != column.charset:
        return replace(column, charset=charset)
    return column
