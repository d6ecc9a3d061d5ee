"""Filter: keeps some columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seatunnel_plugins.transforms.shared.batches import distinct, picked, require, reshaped
from seatunnel_plugins.transforms.shared.column_lineages import moved
from seatunnel_py.api import (
    Batch,
    ColumnLineage,
    Rejected,
    StepContext,
    TableSchema,
    Transform,
    TransformCapabilities,
    TransformFactory,
    TransformOptions,
    exactly_one,
    option,
)


class FilterOptions(TransformOptions):
    include_fields: tuple[str, ...] | None = option(
        None, fallback=("fields",), min_length=1, doc="fields to keep, in output order"
    )
    exclude_fields: tuple[str, ...] | None = option(None, min_length=1, doc="fields to drop")

    rules = (exactly_one("include_fields", "exclude_fields"),)


@dataclass(frozen=True, slots=True)
class Filter(Transform):
    result: TableSchema

    def output(self) -> TableSchema:
        return self.result

    def column_lineage(self) -> ColumnLineage:
        return moved(self.result)

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        yield reshaped(batch, self.result)


class FilterFactory(TransformFactory[FilterOptions]):
    name = "Filter"
    summary = "Keeps or drops columns"
    options = FilterOptions

    def capabilities(self, options: FilterOptions) -> TransformCapabilities:
        return TransformCapabilities(keeps_keys=True)

    def create(self, options: FilterOptions, table: TableSchema, context: StepContext) -> Filter:
        if options.include_fields is not None:
            require(table, options.include_fields, "include_fields")
            distinct(options.include_fields, "include_fields")
            return Filter(picked(table, options.include_fields))
        dropped = options.exclude_fields or ()
        require(table, dropped, "exclude_fields")
        names = [name for name in table.names if name not in dropped]
        if not names:
            raise ValueError(f"exclude_fields: nothing is left of table {table.path}")
        return Filter(picked(table, names))
