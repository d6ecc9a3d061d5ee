"""DefineSinkType: sets the sink's own type for a column that it creates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from seatunnel_plugins.transforms.shared.batches import column, with_added
from seatunnel_plugins.transforms.shared.column_lineages import moved
from seatunnel_py.api import (
    Batch,
    ColumnLineage,
    Options,
    Rejected,
    StepContext,
    TableSchema,
    Transform,
    TransformFactory,
    TransformOptions,
    option,
)


class SinkType(Options):
    column: str = option(doc="column of the table")
    type: str = option(min_length=1, doc="the target database's own type, such as nvarchar2(10)")


class DefineSinkTypeOptions(TransformOptions):
    columns: tuple[SinkType, ...] = option(min_length=1, doc="columns, each with the type to create it with")


@dataclass(frozen=True, slots=True)
class DefineSinkType(Transform):
    result: TableSchema

    def output(self) -> TableSchema:
        return self.result

    def column_lineage(self) -> ColumnLineage:
        return moved(self.result)

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        yield batch


class DefineSinkTypeFactory(TransformFactory[DefineSinkTypeOptions]):
    name = "DefineSinkType"
    summary = "Sets the target's own column types, for tables that the sink creates"
    options = DefineSinkTypeOptions

    def create(self, options: DefineSinkTypeOptions, table: TableSchema, context: StepContext) -> DefineSinkType:
        typed = [replace(column(table, one.column, "columns"), native=one.type) for one in options.columns]
        return DefineSinkType(with_added(table, typed))
