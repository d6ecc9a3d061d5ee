"""Split: splits a text column into several."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seatunnel_plugins.transforms.shared.batches import column, distinct, put, with_added
from seatunnel_plugins.transforms.shared.column_lineages import computed
from seatunnel_plugins.transforms.shared.texts import as_text, is_scalar
from seatunnel_py.api import (
    Batch,
    Column,
    ColumnLineage,
    DataType,
    JavaPattern,
    Kind,
    Rejected,
    StepContext,
    TableSchema,
    Transform,
    TransformFactory,
    TransformOptions,
    option,
)

if TYPE_CHECKING:
    import pyarrow as pa


class SplitOptions(TransformOptions):
    split_field: str = option(doc="text column to split")
    separator: str = option(
        min_length=1,
        doc="Java regular expression of the separator; write `\\\\|` for a bar, since `|` alone has another meaning",
    )
    output_fields: tuple[str, ...] = option(min_length=1, doc="columns for the parts; the last one gets the whole rest")


@dataclass(frozen=True, slots=True)
class SplitColumn(Transform):
    result: TableSchema
    source: Column
    separator: JavaPattern
    fields: tuple[str, ...]

    def output(self) -> TableSchema:
        return self.result

    def column_lineage(self) -> ColumnLineage:
        return computed(self.result, dict.fromkeys(self.fields, (self.source.name,)))

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        texts = as_text(batch.data.column(self.source.name), self.source)
        parts = self._split(texts)
        yield put(batch, self.result, {name: _part(parts, at) for at, name in enumerate(self.fields)})

    def _split(self, texts: pa.StringArray) -> pa.ListArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        most = len(self.fields) - 1
        if most == 0:  # Arrow takes 0 as no limit
            return pa.ListArray.from_arrays(pa.array(range(len(texts) + 1), pa.int32()), texts)
        literal = self.separator.literal
        if literal is not None:
            return pc.split_pattern(texts, literal, max_splits=most)
        pattern = self.separator.re2(texts)
        if pattern is not None:
            return pc.split_pattern_regex(texts, pattern, max_splits=most)
        found = (None if text is None else java_split(self.separator.bounded, text, most) for text in texts.to_pylist())
        return pa.array(found, pa.list_(pa.string()))


def java_split(pattern: re.Pattern[str], text: str, most: int) -> list[str]:
    """Split at ``most`` separators at most; a separator of no width never makes an empty first part."""
    parts: list[str] = []
    at = 0
    for found in pattern.finditer(text):
        if len(parts) == most:
            break
        if found.end() == 0:
            continue
        parts.append(text[at : found.start()])
        at = found.end()
    return [*parts, text[at:]]


def _part(parts: pa.ListArray, at: int) -> pa.StringArray:
    """The part number ``at`` of each row; null if there are fewer."""
    import numpy as np
    import pyarrow as pa

    offsets = parts.offsets.to_numpy()
    starts, ends = offsets[:-1] + at, offsets[1:]
    missing = (starts >= ends) | parts.is_null().to_numpy(zero_copy_only=False)
    return parts.values.take(pa.array(np.where(missing, 0, starts), mask=missing))


class SplitFactory(TransformFactory[SplitOptions]):
    name = "Split"
    summary = "Splits a column at a separator into several columns"
    options = SplitOptions

    def create(self, options: SplitOptions, table: TableSchema, context: StepContext) -> SplitColumn:
        source = column(table, options.split_field, "split_field")
        if not is_scalar(source):
            raise ValueError(f"split_field: {source.name!r} is a {source.dtype}; only single values can be split")
        distinct(options.output_fields, "output_fields")
        result = with_added(table, [Column(name, DataType(Kind.STRING)) for name in options.output_fields])
        return SplitColumn(result, source, JavaPattern(options.separator, "separator"), options.output_fields)
