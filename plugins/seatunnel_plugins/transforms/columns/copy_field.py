"""Copy: duplicates columns under other names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from seatunnel_plugins.transforms.shared.batches import column, reshaped, with_added
from seatunnel_plugins.transforms.shared.column_lineages import moved
from seatunnel_py.api import (
    Batch,
    ColumnLineage,
    Rejected,
    StepContext,
    TableSchema,
    Transform,
    TransformFactory,
    TransformOptions,
    exactly_one,
    option,
    together,
)


class CopyOptions(TransformOptions):
    fields: dict[str, str] | None = option(None, min_length=1, doc="copies to make, as `new = old`")
    src_field: str | None = option(None, doc="field to copy (older form, for one copy)")
    dest_field: str | None = option(None, doc="name of the copy (older form)")

    rules = (exactly_one("fields", "src_field"), together("src_field", "dest_field"))


@dataclass(frozen=True, slots=True)
class CopyFields(Transform):
    result: TableSchema
    sources: tuple[tuple[str, str], ...]

    def output(self) -> TableSchema:
        return self.result

    def column_lineage(self) -> ColumnLineage:
        return moved(self.result, dict(self.sources))

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        yield reshaped(batch, self.result, dict(self.sources))


class CopyFactory(TransformFactory[CopyOptions]):
    name = "Copy"
    summary = "Adds copies of columns"
    options = CopyOptions

    def create(self, options: CopyOptions, table: TableSchema, context: StepContext) -> CopyFields:
        copies = options.fields or {options.dest_field or "": options.src_field or ""}
        place = "fields" if options.fields else "src_field"
        added = [replace(column(table, old, place), name=new) for new, old in copies.items()]
        return CopyFields(with_added(table, added), tuple(copies.items()))
