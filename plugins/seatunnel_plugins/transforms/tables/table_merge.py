"""TableMerge: merges several tables into one by giving them the same name."""

from __future__ import annotations

from dataclasses import replace

from seatunnel_plugins.transforms.tables.table_rename import Renamed
from seatunnel_py.api import StepContext, TablePath, TableSchema, TransformFactory, TransformOptions, option


class TableMergeOptions(TransformOptions):
    database: str = option("", doc="database of the merged table")
    table_schema: str = option("", key="schema", doc="schema of the merged table")
    table: str = option(min_length=1, doc="name of the merged table")


class TableMergeFactory(TransformFactory[TableMergeOptions]):
    name = "TableMerge"
    summary = "Gives all matching tables, which must have equal columns, one name"
    options = TableMergeOptions

    def create(self, options: TableMergeOptions, table: TableSchema, context: StepContext) -> Renamed:
        return Renamed(replace(table, path=TablePath(options.database, options.table_schema, options.table)))
