"""FilterRowKind: keeps rows of some kinds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from seatunnel_plugins.transforms.shared.batches import kept
from seatunnel_plugins.transforms.shared.column_lineages import moved
from seatunnel_py.api import (
    Batch,
    Cardinality,
    ColumnLineage,
    Rejected,
    RowKind,
    StepContext,
    TableSchema,
    Transform,
    TransformCapabilities,
    TransformFactory,
    TransformOptions,
    exactly_one,
    option,
)

KindName = Literal["INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE"]


class FilterRowKindOptions(TransformOptions):
    include_kinds: tuple[KindName, ...] | None = option(None, min_length=1, doc="kinds of rows to keep")
    exclude_kinds: tuple[KindName, ...] | None = option(None, min_length=1, doc="kinds of rows to drop")

    rules = (exactly_one("include_kinds", "exclude_kinds"),)


@dataclass(frozen=True, slots=True)
class FilterRowKind(Transform):
    table: TableSchema
    wanted: frozenset[RowKind]

    def output(self) -> TableSchema:
        return self.table

    def column_lineage(self) -> ColumnLineage:
        return moved(self.table)

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        if batch.kinds is None:
            if RowKind.INSERT in self.wanted:
                yield batch
            return
        import pyarrow as pa
        import pyarrow.compute as pc

        yield kept(batch, pc.is_in(batch.kinds, pa.array(sorted(self.wanted), pa.uint8())))


class FilterRowKindFactory(TransformFactory[FilterRowKindOptions]):
    name = "FilterRowKind"
    summary = "Keeps or drops inserts, updates or deletes"
    options = FilterRowKindOptions

    def capabilities(self, options: FilterRowKindOptions) -> TransformCapabilities:
        return TransformCapabilities(
            cardinality=Cardinality.FILTER,
            keeps_keys=True,
            depends_on_change=True,
            before_images="UPDATE_BEFORE" in (options.include_kinds or ()),
        )

    def create(self, options: FilterRowKindOptions, table: TableSchema, context: StepContext) -> FilterRowKind:
        named = frozenset(RowKind[name] for name in options.include_kinds or options.exclude_kinds or ())
        return FilterRowKind(table, named if options.include_kinds else frozenset(RowKind) - named)
