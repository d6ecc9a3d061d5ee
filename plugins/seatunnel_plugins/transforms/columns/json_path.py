"""JsonPath: extracts values from JSON, arrays, maps and rows into columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from seatunnel_plugins.transforms.columns.json_path_expression import JsonPath, NamedRow, compile_path
from seatunnel_plugins.transforms.shared.batches import column, distinct, kept, put, with_added
from seatunnel_plugins.transforms.shared.column_lineages import computed
from seatunnel_plugins.transforms.shared.lenient_json import parse_json
from seatunnel_plugins.transforms.shared.texts import json_data
from seatunnel_py.api import (
    BadRowsError,
    Batch,
    Cardinality,
    Column,
    ColumnLineage,
    DataType,
    Kind,
    Options,
    Rejected,
    StepContext,
    TableSchema,
    Transform,
    TransformCapabilities,
    TransformFactory,
    TransformOptions,
    option,
    shown_values,
    to_arrow,
)
from seatunnel_py.formats.json.values import from_json
from seatunnel_py.formats.schema_option import read_type

if TYPE_CHECKING:
    import pyarrow as pa

SOURCES = frozenset({Kind.STRING, Kind.BYTES, Kind.ARRAY, Kind.MAP, Kind.ROW})
SHOWN_CHARACTERS_MAX = 80  # of a value in an error message


class RowErrors(StrEnum):
    FAIL = "FAIL"
    SKIP = "SKIP"


class ColumnErrors(StrEnum):
    FAIL = "FAIL"
    SKIP = "SKIP"
    SKIP_ROW = "SKIP_ROW"


class PathColumn(Options):
    src_field: str = option(doc="source column: JSON as text or bytes, or an array, a map or a row")
    path: str | list[str] = option(doc="JSON path, or several: a list, or one text with semicolons")
    dest_field: str | list[str] = option(doc="column for the result, or one for each path")
    dest_type: Any = option("string", doc="type of the column, or one for each path")
    column_error_handle_way: ColumnErrors | None = option(
        None, doc="action on an error: FAIL the job, SKIP the value (null) or SKIP_ROW; default: row_error_handle_way"
    )


class JsonPathOptions(TransformOptions):
    columns: tuple[PathColumn, ...] = option(
        min_length=1, doc="extractions: source column, path and output column of each"
    )
    row_error_handle_way: RowErrors = option(RowErrors.FAIL, doc="action on an error: FAIL the job or SKIP the row")


@dataclass(frozen=True, slots=True)
class Extraction:
    """One path of a source column and its output column."""

    source: Column
    path: JsonPath
    field: str
    dtype: DataType
    on_error: ColumnErrors


@dataclass(frozen=True, slots=True)
class JsonPathTransform(Transform):
    result: TableSchema
    extractions: tuple[Extraction, ...]

    def output(self) -> TableSchema:
        return self.result

    def column_lineage(self) -> ColumnLineage:
        return computed(
            self.result,
            {one.field: [one.source.name] for one in self.extractions},
            rows=[one.source.name for one in self.extractions if one.on_error is ColumnErrors.SKIP_ROW],
        )

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        import pyarrow as pa

        added: dict[str, pa.Array] = {}
        dropped: set[int] = set()
        for source in dict.fromkeys(one.source for one in self.extractions):
            mine = [one for one in self.extractions if one.source == source]
            found = self._extract(batch, source, mine, dropped)
            added |= {one.field: pa.array(found[one.field], to_arrow(one.dtype)) for one in mine}
        result = put(batch, self.result, added)
        if dropped:
            result = kept(result, pa.array([row not in dropped for row in range(batch.rows)]))
        yield result

    def _extract(
        self, batch: Batch, source: Column, extractions: list[Extraction], dropped: set[int]
    ) -> Mapping[str, list[Any]]:
        """Values by output field. Each document is parsed once; a document that cannot be parsed is an error of each
        path."""
        found: dict[str, list[Any]] = {one.field: [None] * batch.rows for one in extractions}
        for row, value in enumerate(shown_values(batch.data.column(source.name))):
            if value is None:
                continue
            document, trouble = _document(value, source.dtype)
            for one in extractions:
                try:
                    if trouble is not None:
                        raise trouble
                    found[one.field][row] = from_json(one.path.find(document), one.dtype, one.path.text)
                except (ValueError, RecursionError) as error:
                    if one.on_error is ColumnErrors.FAIL:
                        raise _failure(batch, one, value, error) from None
                    if one.on_error is ColumnErrors.SKIP_ROW:
                        dropped.add(row)
        return found


def _document(value: Any, dtype: DataType) -> tuple[Any, ValueError | None]:
    """The value as JSON data, or the reason why it is not JSON."""
    if dtype.kind not in (Kind.STRING, Kind.BYTES):
        return json_data(value, dtype, NamedRow), None
    try:
        return parse_json(value), None
    except ValueError as error:
        return None, ValueError(f"the text is not JSON: {error}")


def _failure(batch: Batch, one: Extraction, value: Any, error: Exception) -> BadRowsError:
    shown = repr(value)
    if len(shown) > SHOWN_CHARACTERS_MAX:
        shown = shown[:SHOWN_CHARACTERS_MAX] + "…"
    return BadRowsError(
        f"JsonPath: table {batch.table}: {one.path.text} of field {one.source.name!r} into {one.field!r}: {error}; "
        f"the value is {shown}",
        "set column_error_handle_way to SKIP or SKIP_ROW where such values are to be expected",
    )


class JsonPathFactory(TransformFactory[JsonPathOptions]):
    name = "JsonPath"
    summary = "Takes values out of JSON, arrays, maps and rows"
    options = JsonPathOptions

    def capabilities(self, options: JsonPathOptions) -> TransformCapabilities:
        ways = {one.column_error_handle_way for one in options.columns}
        drops = ColumnErrors.SKIP_ROW in ways or options.row_error_handle_way is RowErrors.SKIP
        return TransformCapabilities(cardinality=Cardinality.FILTER if drops else Cardinality.ONE_TO_ONE)

    def create(self, options: JsonPathOptions, table: TableSchema, context: StepContext) -> JsonPathTransform:
        default = ColumnErrors.FAIL if options.row_error_handle_way is RowErrors.FAIL else ColumnErrors.SKIP_ROW
        found = [one for given in options.columns for one in _extractions(given, table, default)]
        distinct([one.field for one in found], "dest_field")
        return JsonPathTransform(with_added(table, [Column(one.field, one.dtype) for one in found]), tuple(found))


def _several(given: Any, *, joined: bool) -> list[Any]:
    """A list, or one text as job files wrote before lists were supported; ``joined``: separated by semicolons."""
    if isinstance(given, list | tuple):
        return list(given)
    return given.split(";") if joined and isinstance(given, str) else [given]


def _extractions(given: PathColumn, table: TableSchema, default: ColumnErrors) -> Iterable[Extraction]:
    source = column(table, given.src_field, "src_field")
    if source.dtype.kind not in SOURCES:
        known = "string, bytes, array, map or row"
        raise ValueError(f"src_field: {source.name!r} is a {source.dtype}; paths lead into {known}")
    joined = isinstance(given.dest_field, str) and ";" in given.dest_field
    paths, fields = _several(given.path, joined=joined), _several(given.dest_field, joined=joined)
    types = _several(given.dest_type, joined=joined)
    types = types * len(fields) if len(types) == 1 and not isinstance(given.dest_type, list | tuple) else types
    if not len(paths) == len(fields) == len(types):
        raise ValueError(
            f"src_field {source.name!r}: {len(paths)} paths, {len(fields)} fields and {len(types)} types do not match"
        )
    for path, field, dtype in zip(paths, fields, types, strict=True):
        yield Extraction(source, compile_path(path), field, read_type(dtype), given.column_error_handle_way or default)
