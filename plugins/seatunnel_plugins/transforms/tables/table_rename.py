"""TableRename: renames tables by rules; database and schema stay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from seatunnel_plugins.transforms.shared.column_lineages import moved
from seatunnel_plugins.transforms.tables.naming import NamingOptions, new_name
from seatunnel_py.api import (
    Batch,
    ColumnLineage,
    Rejected,
    StepContext,
    TablePath,
    TableSchema,
    Transform,
    TransformCapabilities,
    TransformFactory,
)


class TableRenameOptions(NamingOptions):
    pass


@dataclass(frozen=True, slots=True)
class Renamed(Transform):
    """Moves rows to another table path, otherwise unchanged."""

    result: TableSchema

    def output(self) -> TableSchema:
        return self.result

    def column_lineage(self) -> ColumnLineage:
        return moved(self.result)

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        yield replace(batch, table=self.result.path)


class TableRenameFactory(TransformFactory[TableRenameOptions]):
    name = "TableRename"
    summary = "Renames tables: case, prefix, suffix, replacements"
    options = TableRenameOptions

    def capabilities(self, options: TableRenameOptions) -> TransformCapabilities:
        return TransformCapabilities(keeps_keys=True)

    def create(self, options: TableRenameOptions, table: TableSchema, context: StepContext) -> Renamed:
        path = table.path
        name = new_name(path.table, options)
        if not name:
            raise ValueError(f"table {path} would have no name left")
        return Renamed(replace(table, path=TablePath(path.database, path.schema, name)))
