"""Describes a change of a table's schema that a unit has met in a log: plain data for results, states and records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from seatunnel_py.api.batch import SchemaChange
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.source import SourceTable
from seatunnel_py.work.plain_schema import table_of, table_plain


@dataclass(frozen=True, slots=True)
class SchemaAlteration:
    """From its place on the log is read under ``table``. ``renamed``: columns by their earlier names; ``statement``:
    for display. ``stops``: why the source stops the table here, with a remedy."""

    table: SourceTable
    renamed: Mapping[str, str] = field(default_factory=dict)
    statement: str = ""
    stops: tuple[str, str] | None = None

    @property
    def path(self) -> TablePath:
        return self.table.schema.path

    def to_plain(self) -> dict[str, Any]:
        plain = {"table": table_plain(self.table), "renamed": dict(self.renamed), "statement": self.statement}
        return plain if self.stops is None else {**plain, "stops": list(self.stops)}

    @staticmethod
    def of(change: SchemaChange) -> SchemaAlteration:
        """The alteration that a reader reports."""
        return SchemaAlteration(
            SourceTable(change.after, log_hints=change.log_hints), change.renamed, change.statement, change.stops
        )

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> SchemaAlteration:
        """The inverse of ``to_plain``."""
        message, remedy = plain.get("stops", ("", ""))
        stops = (message, remedy) if message else None
        return SchemaAlteration(table_of(plain["table"]), plain["renamed"], plain["statement"], stops)
