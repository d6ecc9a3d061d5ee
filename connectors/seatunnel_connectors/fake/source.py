"""Defines FakeSource: its rows are a function of (seed, step, table, split, row) and of nothing else.

A split is made in blocks. The random stream of a block is keyed by all of these, so a reader that resumes in the middle
of a split makes the block again and drops the rows before its position.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.fake.options import FakeGeneration, FakeMode, FakeRow
from seatunnel_py.api import (
    PLAIN_READ,
    Batch,
    Column,
    DataType,
    Element,
    Enumerator,
    Heartbeat,
    Kind,
    Plain,
    Position,
    ReadContext,
    Reader,
    RowKind,
    Source,
    SourceTable,
    Split,
    TableSchema,
)
from seatunnel_py.formats.json.values import from_json
from seatunnel_py.formats.schema_option import check_columns

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_ROWS_MAX = 32_768  # enough to make the cost per batch negligible
BLOCK_BYTES_MAX = 16 * 2**20  # wide rows make smaller blocks
PAUSE_STEP_MS = 100  # a paused reader yields its position this often, so that a barrier need not wait for it

_RANGES = ("tinyint", "smallint", "int", "bigint", "float", "double", "vector")
_TEMPLATES = ("string", "tinyint", "smallint", "int", "bigint", "float", "double")
_PARTS = {"month": (1, 12), "day": (1, 31), "hour": (0, 23), "minute": (0, 59), "second": (0, 59)}


@dataclass(frozen=True, slots=True)
class FakeTableSpec:
    """One table and its generation options."""

    schema: TableSchema
    options: FakeGeneration
    counted: tuple[str, ...] = ()


def fake_table(schema: TableSchema, options: FakeGeneration) -> FakeTableSpec:
    """Check everything that can be checked before the first row. Raises ValueError that names option and column."""
    from seatunnel_connectors.fake.columns import default_value

    for name in _RANGES:
        low, high = getattr(options, f"{name}_min"), getattr(options, f"{name}_max")
        if low > high:
            key = "vector.float" if name == "vector" else name
            raise ValueError(f"{key}.min: {low} is above {key}.max, {high}")
    for name in _TEMPLATES:
        if getattr(options, f"{name}_mode") is FakeMode.TEMPLATE and not getattr(options, f"{name}_template"):
            raise ValueError(f"{name}.fake.mode: it is template, but {name}.template is missing")
    for name, (least, most) in _PARTS.items():
        for value in getattr(options, f"{name}_template"):
            if not least <= value <= most:
                key = f"{'date' if name in ('month', 'day') else 'time'}.{name}.template"
                raise ValueError(f"{key}: {value} is not within {least} to {most}")
    now = local_now()
    for column in schema.columns:
        if column.dtype.kind is Kind.BINARY_VECTOR and (column.scale or 8) % 8:
            raise ValueError(f"schema: columnScale of {column.name!r}, its bits, is {column.scale}, no multiple of 8")
        if column.default is not None and column.dtype.kind not in (Kind.ARRAY, Kind.MAP, Kind.ROW):
            default_value(column, now)
    for index, row in enumerate(options.rows or ()):
        _row_values(row, schema, now, _place(index))
    return FakeTableSpec(schema, options, _counted(schema) if options.auto_increment else ())


def _counted(schema: TableSchema) -> tuple[str, ...]:
    """Columns that count up: integers of the primary key, else the first wide integer column."""
    integers = {column.name for column in schema.columns if column.dtype.kind in (Kind.INT, Kind.BIGINT)}
    of_key = tuple(name for name in schema.key if name in integers)
    if of_key or schema.key:
        return of_key[:1]
    return tuple(column.name for column in schema.columns if column.name in integers)[:1]


def local_now() -> datetime:
    """Wall clock of this machine's zone, as columns without a zone hold it."""
    return datetime.now(UTC).astimezone().replace(tzinfo=None)


@dataclass(frozen=True, slots=True)
class FakeSource(Source):
    step: str
    parallelism: int
    streaming: bool
    fakes: tuple[FakeTableSpec, ...]

    def tables(self) -> Sequence[SourceTable]:
        # Splits carry the start time into the record: a resumed job makes the same rows.
        hints: dict[str, Plain] = {"now": local_now().isoformat()}
        return [SourceTable(fake.schema, rows=self._total(fake), hints=hints) for fake in self.fakes]

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        moments = {table.schema.path: str(table.hints.get("now") or local_now().isoformat()) for table in tables}
        splits = [
            replace(split, payload={**split.payload, "now": moments[split.table]})
            for fake in self.fakes
            if fake.schema.path in moments
            for split in self._splits(fake)
        ]
        return FakeEnumerator([] if state == "all" else splits)

    def reader(self, table: SourceTable) -> Reader:
        fake = next(fake for fake in self.fakes if fake.schema.path == table.schema.path)
        return FakeReader(self, fake)

    def _total(self, fake: FakeTableSpec) -> int:
        return sum(split.rows or 0 for split in self._splits(fake))

    def _splits(self, fake: FakeTableSpec) -> Iterator[Split]:
        """Yield at most ``split.num`` equal splits per reader, with as many rows as requested; given rows once per
        split."""
        options = fake.options
        size = -(-options.row_num // options.split_num)
        starts = range(0, options.row_num, size) if size else range(0)
        first = 0
        for turn, start in enumerate(starts):
            for reader in range(self.parallelism):
                rows = min(size, options.row_num - start) if options.rows is None else len(options.rows)
                index = turn * self.parallelism + reader
                yield Split(
                    id=f"{fake.schema.path}#{index}",
                    table=fake.schema.path,
                    payload={"index": index, "first": first, "rows": rows, "turn": turn},
                    rows=rows,
                )
                first += rows


class FakeEnumerator(Enumerator):
    """Returns all splits at once, then nothing more (a streaming job stays idle)."""

    def __init__(self, splits: Iterable[Split]) -> None:
        self._splits = list(splits)

    def discover(self) -> Iterable[Split]:
        splits, self._splits = self._splits, []
        return splits

    def snapshot(self) -> Plain:
        return None if self._splits else "all"


class FakeReader(Reader):
    def __init__(self, source: FakeSource, fake: FakeTableSpec) -> None:
        self.source = source
        self.fake = fake

    def read(self, split: Split, start: Position | None, context: ReadContext = PLAIN_READ) -> Iterator[Element]:
        at = start.value if start else {}
        offset = _number(at, "offset")
        if not offset and self.source.streaming and _number(split.payload, "turn"):
            yield from self._pause(_number(at, "waited_ms"))
        total = _number(split.payload, "rows")
        size = block_rows(self.fake)
        while offset < total:
            first = offset // size * size
            data, kinds = self._block(split, first, min(size, total - first))
            end = first + data.num_rows
            yield Batch(
                table=self.fake.schema.path,
                data=data.slice(offset - first),
                start=Position({"offset": offset}),
                end=Position({"offset": end}),
                kinds=kinds.slice(offset - first) if kinds is not None else None,
            )
            offset = end

    def _pause(self, waited: int) -> Iterator[Element]:
        interval = self.fake.options.split_read_interval
        while waited < interval:
            step = min(PAUSE_STEP_MS, interval - waited)
            time.sleep(step / 1000)
            waited += step
            yield Heartbeat(Position({"offset": 0, "waited_ms": waited}))

    def _block(self, split: Split, first: int, rows: int) -> tuple[pa.RecordBatch, pa.UInt8Array | None]:
        now = datetime.fromisoformat(str(split.payload["now"]))
        if self.fake.options.rows is not None:
            return _given_rows(self.fake, now, first, rows)
        import numpy as np
        import pyarrow as pa

        from seatunnel_connectors.fake.columns import ColumnMaker

        schema = self.fake.schema
        stream = np.random.Philox(key=self._key(split), counter=[0, 0, first, 0])
        maker = ColumnMaker(np.random.Generator(stream), self.fake.options, now)
        columns = [maker.make(column, rows) for column in schema.columns]
        from_number = self.fake.options.auto_increment_start + _number(split.payload, "first") + first
        for name in self.fake.counted:
            at = schema.names.index(name)
            counted = np.arange(from_number, from_number + rows, dtype=np.int64)
            columns[at] = pa.array(counted).cast(columns[at].type)
        return pa.RecordBatch.from_arrays(columns, schema=schema.arrow()), None

    def _key(self, split: Split) -> int:
        named = f"{self.fake.options.seed}\n{self.source.step}\n{split.table}\n{split.payload['index']}"
        return int.from_bytes(hashlib.blake2b(named.encode(), digest_size=16).digest(), "little")


def _number(values: Mapping[str, Plain], name: str) -> int:
    value = values.get(name, 0)
    assert isinstance(value, int), f"{name} of a fake split is {value!r}"
    return value


# ---------------------------------------------------------------- given rows


def _given_rows(
    fake: FakeTableSpec, now: datetime, first: int, rows: int
) -> tuple[pa.RecordBatch, pa.UInt8Array | None]:
    import pyarrow as pa

    given = (fake.options.rows or ())[first : first + rows]
    values = [_row_values(row, fake.schema, now, _place(first + at)) for at, row in enumerate(given)]
    arrow = fake.schema.arrow()
    columns = [pa.array([row[at] for row in values], type=field.type) for at, field in enumerate(arrow)]
    kinds = [RowKind[row.kind] for row in given]
    changed = pa.array(kinds, pa.uint8()) if any(kinds) else None
    return pa.RecordBatch.from_arrays(columns, schema=arrow), changed


def _place(index: int) -> str:
    return f"rows: row {index + 1}"


def _row_values(row: FakeRow, schema: TableSchema, now: datetime, where: str) -> list[Any]:
    """The row's values in the order of the columns, converted. Raises ValueError that names row and column."""
    from seatunnel_connectors.fake.columns import resolved

    given = row.values
    if isinstance(given, dict):
        check_columns(given, schema.names, where)
        given = [given.get(name) for name in schema.names]
    if len(given) > len(schema.columns):
        raise ValueError(f"{where}: {len(given)} values for the {len(schema.columns)} columns of {schema.path}")
    padded = [*given, *[None] * (len(schema.columns) - len(given))]
    return [
        _checked(from_json(resolved(value, column.dtype, now), column.dtype, f"{where}, {column.name}"), column, where)
        for value, column in zip(padded, schema.columns, strict=True)
    ]


def _checked(value: Any, column: Column, where: str) -> Any:
    if value is None and not column.nullable:
        raise ValueError(f"{where}, {column.name}: null, but the column is declared not nullable")
    return value


# ---------------------------------------------------------------- size of a block


def block_rows(fake: FakeTableSpec) -> int:
    """Rows per block. Positions do not depend on it, but values do: it must depend only on the table and its
    options."""
    width = sum(_width(column, fake.options) for column in fake.schema.columns)
    return max(1, min(BLOCK_ROWS_MAX, BLOCK_BYTES_MAX // max(width, 1)))


def _width(column: Column, options: FakeGeneration) -> int:
    """Approximate bytes per value."""
    from seatunnel_connectors.fake.columns import dimension

    def inner(dtype: DataType | None) -> int:
        assert dtype is not None
        return _width(replace(column, dtype=dtype), options)

    dtype = column.dtype
    match dtype.kind:
        case Kind.STRING:
            longest = max((len(text) for text in options.string_template), default=0)
            return 4 + (longest or column.length or options.string_length)
        case Kind.BYTES:
            return 4 + (column.length or options.bytes_length)
        case Kind.ARRAY:
            return 4 + options.array_size * inner(dtype.element)
        case Kind.MAP:
            return 4 + options.map_size * (inner(dtype.key) + inner(dtype.element))
        case Kind.ROW:
            return sum(inner(member) for _, member in dtype.fields)
        case Kind.BINARY_VECTOR:
            return 4 + dimension(column, options) // 8
        case Kind.FLOAT_VECTOR | Kind.FLOAT16_VECTOR | Kind.BFLOAT16_VECTOR | Kind.SPARSE_FLOAT_VECTOR:
            return 4 + 8 * dimension(column, options)
        case _:
            return 16
