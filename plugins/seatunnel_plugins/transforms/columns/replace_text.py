"""Replace: replaces a text or a pattern in one or more text columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seatunnel_plugins.transforms.shared.batches import column, put
from seatunnel_plugins.transforms.shared.column_lineages import computed
from seatunnel_py.api import (
    Batch,
    ColumnLineage,
    JavaPattern,
    Kind,
    Rejected,
    StepContext,
    TableSchema,
    Transform,
    TransformFactory,
    TransformOptions,
    filled,
    java_replacement,
    option,
    re2_rewrite,
)

if TYPE_CHECKING:
    import pyarrow as pa


class ReplaceOptions(TransformOptions):
    replace_field: str | tuple[str, ...] = option(min_length=1, doc="text column, or a list of them")
    pattern: str = option(doc="text to search for; with is_regex, a Java regular expression")
    replacement: str = option(doc="replacement; with is_regex, $1 is the first group")
    is_regex: bool = option(False, doc="read pattern as a regular expression")
    replace_first: bool = option(False, doc="replace the first match only (with is_regex)")

    @property
    def fields(self) -> tuple[str, ...]:
        return (self.replace_field,) if isinstance(self.replace_field, str) else self.replace_field


@dataclass(frozen=True, slots=True)
class ReplaceText(Transform):
    """Replaces every occurrence of one text by another."""

    table: TableSchema
    options: ReplaceOptions

    def output(self) -> TableSchema:
        return self.table

    def column_lineage(self) -> ColumnLineage:
        return computed(self.table, {name: [name] for name in self.options.fields})

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        columns = {field: self._replaced(batch.data.column(field)) for field in self.options.fields}
        yield put(batch, self.table, columns)

    def _replaced(self, values: pa.StringArray) -> pa.StringArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        pattern, replacement = self.options.pattern, self.options.replacement
        if pattern:
            return pc.replace_substring(values, pattern, replacement)
        # The empty text occurs before, between and after all characters: Arrow would loop forever.
        texts = (None if text is None else text.replace("", replacement) for text in values.to_pylist())
        return pa.array(texts, pa.string())


@dataclass(frozen=True, slots=True)
class ReplacePattern(Transform):
    """Replaces the matches of a regular expression by a text that may refer to its groups."""

    table: TableSchema
    fields: tuple[str, ...]
    pattern: JavaPattern
    pieces: tuple[str | int, ...]
    first_only: bool

    def output(self) -> TableSchema:
        return self.table

    def column_lineage(self) -> ColumnLineage:
        return computed(self.table, {name: [name] for name in self.fields})

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        yield put(batch, self.table, {field: self._replaced(batch.data.column(field)) for field in self.fields})

    def _replaced(self, values: pa.StringArray) -> pa.StringArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        pieces = list(self.pieces)
        most = 1 if self.first_only else 0
        pattern, rewrite = self.pattern.re2(values), re2_rewrite(pieces)
        if pattern is not None and rewrite is not None:
            return pc.replace_substring_regex(values, pattern, rewrite, max_replacements=most or None)
        find = self.pattern.bounded
        texts = (
            None if text is None else find.sub(lambda match: filled(pieces, match), text, count=most)
            for text in values.to_pylist()
        )
        return pa.array(texts, pa.string())


class ReplaceFactory(TransformFactory[ReplaceOptions]):
    name = "Replace"
    summary = "Replaces a text, or the matches of a regular expression, in columns"
    options = ReplaceOptions

    def create(self, options: ReplaceOptions, table: TableSchema, context: StepContext) -> Transform:
        for name in options.fields:
            field = column(table, name, "replace_field")
            if field.dtype.kind is not Kind.STRING:
                raise ValueError(f"replace_field: {field.name!r} is a {field.dtype}; only text can be replaced")
        if not options.is_regex:
            return ReplaceText(table, options)
        pattern = JavaPattern(options.pattern, "pattern")
        pieces = java_replacement(options.replacement, pattern.python, "replacement")
        return ReplacePattern(table, options.fields, pattern, tuple(pieces), options.replace_first)
