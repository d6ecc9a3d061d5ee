"""RowKindExtractor: writes the kind of a change into a column, and makes every row an insert."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from seatunnel_plugins.transforms.shared.batches import put, with_added
from seatunnel_plugins.transforms.shared.column_lineages import computed
from seatunnel_py.api import (
    Batch,
    Column,
    ColumnLineage,
    DataType,
    Kind,
    Rejected,
    RowKind,
    StepContext,
    TableSchema,
    Transform,
    TransformCapabilities,
    TransformFactory,
    TransformOptions,
    option,
)

if TYPE_CHECKING:
    import pyarrow as pa


class KindStyle(StrEnum):
    SHORT = "SHORT"
    FULL = "FULL"


class RowKindExtractorOptions(TransformOptions):
    custom_field_name: str = option("row_kind", min_length=1, doc="column for the kind")
    transform_type: KindStyle = option(KindStyle.SHORT, doc="spelling of the kind: `+I` or `INSERT`")


def kind_texts(batch: Batch, style: KindStyle) -> pa.Array:
    """Text of each row's kind."""
    import pyarrow as pa

    words = [kind.short if style is KindStyle.SHORT else kind.name for kind in RowKind]
    if batch.kinds is None:
        return pa.repeat(pa.scalar(words[RowKind.INSERT]), batch.rows)
    return pa.array(words).take(batch.kinds)


@dataclass(frozen=True, slots=True)
class RowKindExtractor(Transform):
    result: TableSchema
    field: str
    style: KindStyle

    def output(self) -> TableSchema:
        return self.result

    def column_lineage(self) -> ColumnLineage:
        return computed(self.result, {self.field: ()})

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        texts = kind_texts(batch, self.style)
        yield replace(put(batch, self.result, {self.field: texts}), kinds=None)


class RowKindExtractorFactory(TransformFactory[RowKindExtractorOptions]):
    name = "RowKindExtractor"
    summary = "Turns changes into inserts, with the kind of the change in a column"
    options = RowKindExtractorOptions

    def capabilities(self, options: RowKindExtractorOptions) -> TransformCapabilities:
        return TransformCapabilities(depends_on_change=True, before_images=True)

    def create(self, options: RowKindExtractorOptions, table: TableSchema, context: StepContext) -> RowKindExtractor:
        field = options.custom_field_name
        result = with_added(table, [Column(field, DataType(Kind.STRING), nullable=False)])
        return RowKindExtractor(result, field, options.transform_type)
