"""FieldMapper: picks columns, orders and renames them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seatunnel_plugins.transforms.shared.batches import distinct, picked, renamed, require, reshaped
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
    option,
)


class FieldMapperOptions(TransformOptions):
    field_mapper: dict[str, str] = option(
        min_length=1, doc="fields to keep, as `old = new`, in output order; all others are dropped"
    )


@dataclass(frozen=True, slots=True)
class FieldMapper(Transform):
    """Picks, orders and renames columns. ``sources`` pairs each output field with its input field."""

    result: TableSchema
    sources: tuple[tuple[str, str], ...]

    def output(self) -> TableSchema:
        return self.result

    def column_lineage(self) -> ColumnLineage:
        return moved(self.result, dict(self.sources))

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        yield reshaped(batch, self.result, dict(self.sources))


class FieldMapperFactory(TransformFactory[FieldMapperOptions]):
    name = "FieldMapper"
    summary = "Keeps the listed columns, in the listed order, under new names"
    options = FieldMapperOptions

    def capabilities(self, options: FieldMapperOptions) -> TransformCapabilities:
        return TransformCapabilities(keeps_keys=True)

    def create(self, options: FieldMapperOptions, table: TableSchema, context: StepContext) -> FieldMapper:
        mapping = options.field_mapper
        require(table, mapping, "field_mapper")
        distinct(list(mapping.values()), "field_mapper")
        result = renamed(picked(table, list(mapping)), mapping)
        return FieldMapper(result, tuple((new, old) for old, new in mapping.items()))
