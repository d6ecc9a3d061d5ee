"""Generates random columns: numpy draws whole columns, and Arrow takes the buffers.

Values depend on the random stream and the options only. The single external input, the start time of the job, is passed
in, so that a split read again gives the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from seatunnel_connectors.fake.options import FakeGeneration
from seatunnel_py.api import Column, DataType, Kind, to_arrow
from seatunnel_py.formats.json.values import from_json

LETTERS = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", dtype=np.uint8)
FLOAT16_MAX = 65504.0
SPARSE_INDEX_MAX = 2**31 - 1
DAY_MICROSECONDS = 86_400_000_000

_NUMPY = {
    Kind.TINYINT: np.int8,
    Kind.SMALLINT: np.int16,
    Kind.INT: np.int32,
    Kind.BIGINT: np.int64,
    Kind.FLOAT: np.float32,
    Kind.DOUBLE: np.float64,
}


class ColumnMaker:
    """Draws columns from one random stream. Values are repeatable only with the same order of calls."""

    def __init__(self, random: np.random.Generator, options: FakeGeneration, now: datetime) -> None:
        self.random = random
        self.options = options
        self.now = now

    def make(self, column: Column, rows: int) -> pa.Array:
        """``rows`` values for the column: its default if it has one, else random ones."""
        kind = column.dtype.kind
        if column.default is not None and not _spreads(column):
            return constant(default_value(column, self.now), column.dtype, rows)
        return self._MAKERS[kind](self, column, rows)

    # ---------------------------------------------------------------- scalars

    def _string(self, column: Column, rows: int) -> pa.Array:
        if self.options.string_template:
            return self._drawn(pa.array(self.options.string_template, pa.string()), rows)
        return self._letters(pa.string(), column.length or self.options.string_length, rows)

    def _bytes(self, column: Column, rows: int) -> pa.Array:
        return self._letters(pa.binary(), column.length or self.options.bytes_length, rows)

    def _letters(self, arrow: pa.DataType, length: int, rows: int) -> pa.Array:
        letters = LETTERS[self.random.integers(0, len(LETTERS), rows * length, dtype=np.uint8)]
        offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(length)
        return pa.Array.from_buffers(arrow, rows, [None, pa.py_buffer(offsets), pa.py_buffer(letters)])

    def _boolean(self, column: Column, rows: int) -> pa.Array:
        return pa.array(self.random.integers(0, 2, rows, dtype=np.uint8).astype(bool))

    def _integer(self, column: Column, rows: int) -> pa.Array:
        name, dtype = column.dtype.kind.value, _NUMPY[column.dtype.kind]
        template = getattr(self.options, f"{name}_template")
        if template:
            return self._drawn(pa.array(template, to_arrow(column.dtype)), rows)
        low, high = getattr(self.options, f"{name}_min"), getattr(self.options, f"{name}_max")
        return pa.array(self.random.integers(low, high, rows, dtype=dtype, endpoint=True))

    def _floating(self, column: Column, rows: int) -> pa.Array:
        name, dtype = column.dtype.kind.value, _NUMPY[column.dtype.kind]
        template = getattr(self.options, f"{name}_template")
        if template:
            return self._drawn(pa.array(template, to_arrow(column.dtype)), rows)
        low, high = getattr(self.options, f"{name}_min"), getattr(self.options, f"{name}_max")
        values = self._between(low, high, rows)
        if column.scale is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                rounded = np.round(values, column.scale)
            values = np.where(np.isfinite(rounded), rounded, values)  # huge values have no digits to round
        return pa.array(values.astype(dtype))

    def _between(self, low: float, high: float, count: int) -> Any:
        # Weighted, not low + share x (high - low): the range of all doubles does not fit into a double.
        share = self.random.random(count)
        return low * (1.0 - share) + high * share

    def _decimal(self, column: Column, rows: int) -> pa.Array:
        """Random values over the whole precision: 16 bytes each, the lower half first."""
        limit = 10**column.dtype.precision
        words = np.zeros((rows, 2), dtype=np.uint64)
        if limit <= 2**64:
            words[:, 0] = self.random.integers(0, limit - 1, rows, dtype=np.uint64, endpoint=True)
        else:
            words[:, 0] = self.random.integers(0, 2**64 - 1, rows, dtype=np.uint64, endpoint=True)
            words[:, 1] = self.random.integers(0, limit >> 64, rows, dtype=np.uint64)
        return pa.Array.from_buffers(to_arrow(column.dtype), rows, [None, pa.py_buffer(words)])

    def _null(self, column: Column, rows: int) -> pa.Array:
        return pa.nulls(rows)

    def _drawn(self, template: pa.Array, rows: int) -> pa.Array:
        return template.take(pa.array(self.random.integers(0, len(template), rows, dtype=np.int32)))

    # ---------------------------------------------------------------- dates and times

    def _days(self, rows: int) -> Any:
        """Days since 1970; a day that its month lacks becomes the month's last."""
        months = (self._picked(self.options.year_template, self.now.year, self.now.year, rows) - 1970) * 12
        months += self._picked(self.options.month_template, 1, 12, rows) - 1
        first = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
        after = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
        return np.minimum(first + self._picked(self.options.day_template, 1, 28, rows) - 1, after - 1)

    def _seconds(self, rows: int) -> Any:
        hours = self._picked(self.options.hour_template, 0, 23, rows)
        minutes = self._picked(self.options.minute_template, 0, 59, rows)
        return (hours * 60 + minutes) * 60 + self._picked(self.options.second_template, 0, 59, rows)

    def _picked(self, template: tuple[int, ...], low: int, high: int, rows: int) -> Any:
        if template:
            return np.array(template, dtype=np.int64)[self.random.integers(0, len(template), rows)]
        return self.random.integers(low, high, rows, dtype=np.int64, endpoint=True)

    def _date(self, column: Column, rows: int) -> pa.Array:
        return pa.array(self._days(rows).astype(np.int32)).view(pa.date32())

    def _time(self, column: Column, rows: int) -> pa.Array:
        return pa.array(self._seconds(rows) * 1_000_000).view(pa.time64("us"))

    def _timestamp(self, column: Column, rows: int) -> pa.Array:
        moments = self._days(rows) * DAY_MICROSECONDS + self._seconds(rows) * 1_000_000
        return pa.array(moments).view(to_arrow(column.dtype))

    # ---------------------------------------------------------------- containers

    def _array(self, column: Column, rows: int) -> pa.Array:
        assert column.dtype.element is not None
        size = self.options.array_size
        items = self.make(replace(column, dtype=column.dtype.element), rows * size)
        return pa.ListArray.from_arrays(_even_offsets(rows, size), items)

    def _map(self, column: Column, rows: int) -> pa.Array:
        assert column.dtype.key is not None and column.dtype.element is not None
        size = self.options.map_size
        keys = self.make(replace(column, dtype=column.dtype.key), rows * size)
        values = self.make(replace(column, dtype=column.dtype.element), rows * size)
        return _map_of_distinct(keys, values, rows, size)

    def _row(self, column: Column, rows: int) -> pa.Array:
        children = [self.make(replace(column, dtype=inner), rows) for _, inner in column.dtype.fields]
        return pa.StructArray.from_arrays(children, fields=list(to_arrow(column.dtype)))

    # ---------------------------------------------------------------- vectors

    def _float_vector(self, column: Column, rows: int) -> pa.Array:
        size = dimension(column, self.options)
        return pa.ListArray.from_arrays(_even_offsets(rows, size), pa.array(self._elements(rows * size)))

    def _float16_vector(self, column: Column, rows: int) -> pa.Array:
        size = dimension(column, self.options)
        low, high = np.clip([self.options.vector_min, self.options.vector_max], -FLOAT16_MAX, FLOAT16_MAX)
        elements = self._between(low, high, rows * size).astype(np.float16)
        return pa.ListArray.from_arrays(_even_offsets(rows, size), pa.array(elements))

    def _bfloat16_vector(self, column: Column, rows: int) -> pa.Array:
        """Random bfloat16 vectors. A bfloat16 is the upper half of a float32, stored little-endian as in native
        libraries."""
        size = dimension(column, self.options)
        halves = (self._elements(rows * size).view(np.uint32) >> 16).astype("<u2")
        offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(2 * size)
        return pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(halves)])

    def _binary_vector(self, column: Column, rows: int) -> pa.Array:
        size = dimension(column, self.options) // 8
        content = self.random.integers(0, 256, rows * size, dtype=np.uint8)
        offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(size)
        return pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(content)])

    def _sparse_vector(self, column: Column, rows: int) -> pa.Array:
        size = dimension(column, self.options)
        keys = pa.array(self.random.integers(0, SPARSE_INDEX_MAX, rows * size, dtype=np.int32))
        return _map_of_distinct(keys, pa.array(self._elements(rows * size)), rows, size)

    def _elements(self, count: int) -> Any:
        return self._between(self.options.vector_min, self.options.vector_max, count).astype(np.float32)

    _MAKERS: Mapping[Kind, Callable[[ColumnMaker, Column, int], pa.Array]] = {
        Kind.STRING: _string,
        Kind.BOOLEAN: _boolean,
        Kind.TINYINT: _integer,
        Kind.SMALLINT: _integer,
        Kind.INT: _integer,
        Kind.BIGINT: _integer,
        Kind.FLOAT: _floating,
        Kind.DOUBLE: _floating,
        Kind.DECIMAL: _decimal,
        Kind.NULL: _null,
        Kind.BYTES: _bytes,
        Kind.DATE: _date,
        Kind.TIME: _time,
        Kind.TIMESTAMP: _timestamp,
        Kind.TIMESTAMP_TZ: _timestamp,
        Kind.ARRAY: _array,
        Kind.MAP: _map,
        Kind.ROW: _row,
        Kind.BINARY_VECTOR: _binary_vector,
        Kind.FLOAT_VECTOR: _float_vector,
        Kind.FLOAT16_VECTOR: _float16_vector,
        Kind.BFLOAT16_VECTOR: _bfloat16_vector,
        Kind.SPARSE_FLOAT_VECTOR: _sparse_vector,
    }


def dimension(column: Column, options: FakeGeneration) -> int:
    """Elements of a vector (bits of a binary one): the column's scale, if it has one."""
    is_binary = column.dtype.kind is Kind.BINARY_VECTOR
    return column.scale or (options.binary_vector_dimension if is_binary else options.vector_dimension)


# ---------------------------------------------------------------- defaults


def _spreads(column: Column) -> bool:
    """True if a container's default applies to its elements: one text for every element of an array."""
    default = column.default
    match column.dtype.kind:
        case Kind.ARRAY:
            return not isinstance(default, list | tuple)
        case Kind.MAP:
            return not isinstance(default, Mapping)
        case Kind.ROW:
            return not isinstance(default, Mapping | list | tuple)
        case _:
            return False


def default_value(column: Column, now: datetime) -> Any:
    """The column's default as a value of its type. Raises ValueError that names the column."""
    if column.dtype.kind is Kind.BYTES:  # the one type whose default is plain text, not base64
        return str(column.default).encode()
    return from_json(resolved(column.default, column.dtype, now), column.dtype, f"schema: default of {column.name!r}")


def resolved(value: Any, dtype: DataType, now: datetime) -> Any:
    """Replace CURRENT_DATE, CURRENT_TIME and CURRENT_TIMESTAMP by the job's start time."""
    word = value.strip().upper() if isinstance(value, str) else ""
    match (dtype.kind, word):
        case (Kind.DATE, "CURRENT_DATE"):
            return now.date().isoformat()
        case (Kind.TIME, "CURRENT_TIME"):
            return now.time().isoformat()
        case (Kind.TIMESTAMP | Kind.TIMESTAMP_TZ, "CURRENT_TIMESTAMP"):
            return now.isoformat()
        case _:
            return value


def constant(value: Any, dtype: DataType, rows: int) -> pa.Array:
    """A column with the same value in every row."""
    return pa.array([value], to_arrow(dtype)).take(pa.array(np.zeros(rows, dtype=np.int32)))


# ---------------------------------------------------------------- offsets


def _even_offsets(rows: int, size: int) -> pa.Array:
    return pa.array(np.arange(rows + 1, dtype=np.int32) * np.int32(size))


def _map_of_distinct(keys: pa.Array, values: pa.Array, rows: int, size: int) -> pa.Array:
    """Maps of ``size`` entries each, without duplicate keys."""
    codes = keys.dictionary_encode().indices.to_numpy(zero_copy_only=False).reshape(rows, size)
    order = np.argsort(codes, axis=1, kind="stable")
    ordered = np.take_along_axis(codes, order, axis=1)
    repeats = np.zeros((rows, size), dtype=bool)
    np.put_along_axis(repeats, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    offsets = np.zeros(rows + 1, dtype=np.int32)
    np.cumsum((~repeats).sum(axis=1), out=offsets[1:])
    if repeats.any():
        kept = pa.array(~repeats.reshape(-1))
        keys, values = keys.filter(kept), values.filter(kept)
    return pa.MapArray.from_arrays(pa.array(offsets), keys, values)
