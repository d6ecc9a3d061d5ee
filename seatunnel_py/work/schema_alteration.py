"""Describes a change of a table's schema that a unit has met in a log: plain data for results, states and records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from seatunnel_py.api.batch import SchemaChange, TableTruncated
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.schema_policy import SchemaBehavior
from seatunnel_py.api.source import SourceTable
from seatunnel_py.work.plain_schema import table_of, table_plain

TRUNCATIONS = "truncations"
"""Key of ``SourceTable.log_hints``: their number; a record has those that its targets have."""


@dataclass(frozen=True, slots=True)
class SchemaAlteration:
    """From its place on the log is read under ``table``. ``renamed``: columns by their earlier names; ``statement``:
    for display. ``truncates``: all earlier rows are removed. ``stops``: why the source stops the table here, with a
    remedy. ``behavior``: a decision about this change alone, in place of the policy's; not stored."""

    table: SourceTable
    renamed: Mapping[str, str] = field(default_factory=dict)
    statement: str = ""
    truncates: bool = False
    stops: tuple[str, str] | None = None
    behavior: SchemaBehavior | None = None

    @property
    def path(self) -> TablePath:
        return self.table.schema.path

    @property
    def shown(self) -> str:
        """The statement, or a phrase in its place."""
        return self.statement or "its schema has changed"

    def to_plain(self) -> dict[str, Any]:
        plain: dict[str, Any] = {
            "table": table_plain(self.table),
            "renamed": dict(self.renamed),
            "statement": self.statement,
        }
        plain |= {"truncates": True} if self.truncates else {}
        return plain if self.stops is None else {**plain, "stops": list(self.stops)}

    @staticmethod
    def of(change: SchemaChange) -> SchemaAlteration:
        """The alteration that a reader reports."""
        table = SourceTable(change.after, log_hints=change.log_hints)
        return SchemaAlteration(table, change.renamed, change.statement, stops=change.stops)

    @staticmethod
    def truncating(table: SourceTable, found: TableTruncated) -> SchemaAlteration:
        """The alteration by which a table that is read under this schema loses its rows."""
        number: Any = table.log_hints.get(TRUNCATIONS, 0)
        hints = {**table.log_hints, TRUNCATIONS: number + 1}
        return SchemaAlteration(replace(table, log_hints=hints), statement=found.statement, truncates=True)

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> SchemaAlteration:
        """The inverse of ``to_plain``."""
        message, remedy = plain.get("stops", ("", ""))
        stops = (message, remedy) if message else None
        truncates = plain.get("truncates", False)
        return SchemaAlteration(table_of(plain["table"]), plain["renamed"], plain["statement"], truncates, stops)
