"""TableFilter: keeps tables whose names match."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from seatunnel_plugins.transforms.shared.column_lineages import moved
from seatunnel_py.api import (
    Batch,
    ColumnLineage,
    JavaPattern,
    Rejected,
    StepContext,
    TableSchema,
    Transform,
    TransformCapabilities,
    TransformFactory,
    TransformOptions,
    option,
)


class PatternMode(StrEnum):
    INCLUDE = "INCLUDE"
    EXCLUDE = "EXCLUDE"


class TableFilterOptions(TransformOptions):
    database_pattern: str | None = option(
        None, doc="regular expression that must match the whole database name; default: any"
    )
    schema_pattern: str | None = option(
        None, doc="regular expression that must match the whole schema name; default: any"
    )
    table_pattern: str | None = option(
        None, doc="regular expression that must match the whole table name; default: any"
    )
    pattern_mode: PatternMode = option(PatternMode.INCLUDE, doc="whether to keep or to drop matching tables")


@dataclass(frozen=True, slots=True)
class TableFilter(Transform):
    table: TableSchema
    keeps: bool

    def output(self) -> TableSchema | None:
        return self.table if self.keeps else None

    def column_lineage(self) -> ColumnLineage:
        return moved(self.table)

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        if self.keeps:
            yield batch


class TableFilterFactory(TransformFactory[TableFilterOptions]):
    name = "TableFilter"
    summary = "Keeps or drops whole tables by name"
    options = TableFilterOptions

    def capabilities(self, options: TableFilterOptions) -> TransformCapabilities:
        return TransformCapabilities(keeps_keys=True)

    def create(self, options: TableFilterOptions, table: TableSchema, context: StepContext) -> TableFilter:
        named = {
            "database_pattern": (options.database_pattern, table.path.database),
            "schema_pattern": (options.schema_pattern, table.path.schema),
            "table_pattern": (options.table_pattern, table.path.table),
        }
        matches = all(
            JavaPattern(pattern, key).require_bounded(key).fullmatch(name) is not None
            for key, (pattern, name) in named.items()
            if pattern is not None
        )
        return TableFilter(table, matches is (options.pattern_mode is PatternMode.INCLUDE))
