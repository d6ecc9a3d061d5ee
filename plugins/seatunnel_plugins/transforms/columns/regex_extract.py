"""RegexExtract: extracts the groups of a pattern into columns."""

from __future__ import annotations

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


class RegexExtractOptions(TransformOptions):
    source_field: str = option(doc="text column to search")
    regex_pattern: str = option(doc="Java regular expression with one group for each output field")
    output_fields: tuple[str, ...] = option(min_length=1, doc="columns for the groups, in order")
    default_values: tuple[str | None, ...] | None = option(
        None, doc="values to use if the pattern is not found or the text is null; default: null"
    )


@dataclass(frozen=True, slots=True)
class RegexExtract(Transform):
    result: TableSchema
    source: Column
    pattern: JavaPattern
    fields: tuple[str, ...]
    defaults: tuple[str | None, ...]

    def output(self) -> TableSchema:
        return self.result

    def column_lineage(self) -> ColumnLineage:
        return computed(self.result, dict.fromkeys(self.fields, (self.source.name,)))

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        texts = as_text(batch.data.column(self.source.name), self.source)
        yield put(batch, self.result, dict(zip(self.fields, self._groups(texts), strict=True)))

    def _groups(self, texts: pa.StringArray) -> list[pa.StringArray]:
        # Arrow's own extraction returns "" for an unmatched group, where Java returns null.
        import pyarrow as pa

        find = self.pattern.python.search
        rows = []
        for text in texts.to_pylist():
            found = find(text) if text is not None else None
            rows.append(found.groups() if found else self.defaults)
        columns = zip(*rows, strict=True) if rows else [()] * len(self.fields)
        return [pa.array(values, pa.string()) for values in columns]


class RegexExtractFactory(TransformFactory[RegexExtractOptions]):
    name = "RegexExtract"
    summary = "Puts the groups of a regular expression into columns"
    options = RegexExtractOptions

    def create(self, options: RegexExtractOptions, table: TableSchema, context: StepContext) -> RegexExtract:
        source = column(table, options.source_field, "source_field")
        if not is_scalar(source):
            raise ValueError(f"source_field: {source.name!r} is a {source.dtype}; only single values can be searched")
        fields = options.output_fields
        pattern = JavaPattern(options.regex_pattern, "regex_pattern")
        defaults = options.default_values or (None,) * len(fields)
        for key, count in {
            "the groups": pattern.require_bounded("regex_pattern").groups,
            "default_values": len(defaults),
        }.items():
            if count != len(fields):
                raise ValueError(f"output_fields names {len(fields)} fields, but {key} are {count}")
        distinct(fields, "output_fields")
        result = with_added(table, [Column(name, DataType(Kind.STRING)) for name in fields])
        return RegexExtract(result, source, pattern, fields, defaults)
