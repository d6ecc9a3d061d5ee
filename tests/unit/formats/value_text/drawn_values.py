"""Types and values to draw: every type, nested to a depth of three, with the values that are apt to break."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from seatunnel_py.api import DataType, Kind, to_arrow
from seatunnel_py.api.types import NUMBER

DAY = 86_400_000_000
HARD_TEXTS = [
    "", " ", "a", "NULL", "\\N", "null", ",", ";", "|", "a|", "||", '"', '""', "'", "\\", "a\\b", "\t", "\n", "\r", "\r\n",
    "\x00", "\x01", "\x02", "\x03\x04", "\x08", "\x10", '\x10"', "\x100", "\x10a", "\x1f", "[", "{}", "é", "你好", "😀",
    "1.10", "true", "2024-01-31", "<&>", "=1", "\x7f", "\u2028", "NaN", "0", "#N/A", "_x0041_", "\uffff",
]  # fmt: skip
TEXTS = st.sampled_from(HARD_TEXTS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
DAYS = [-719_529, -719_528, -719_162, -1, 0, 2_932_896, 2_932_897, -2_000_000, 11_248_738, 2**31 - 1, -(2**31)]
MOMENTS = [0, 1, -1, 999_999, -1_500_000, -62_135_596_800_000_000, 253_402_300_799_999_999, 253_402_300_800_000_000]
MOMENTS += [-62_167_219_200_000_001, 2**63 - 1, -(2**63) + 1, 1_706_700_000_123_456, -63_517_564_800_000_000]
DOUBLES = [0.0, -0.0, 1e-320, 5e-324, 1.7976931348623157e308, 0.1, 0.30000000000000004, 1e7, 1e-3, 123456789012345.68]
DOUBLES += [math.nan, math.inf, -math.inf]
SINGLES = [0.0, -0.0, 1.401298464324817e-45, 3.4028234663852886e38, 0.10000000149011612, math.nan, math.inf, -math.inf]


@dataclass(frozen=True)
class Typed:
    """A type, and a strategy of the values that Arrow takes for it."""

    dtype: DataType
    values: st.SearchStrategy[Any]


def decimals(precision: int, scale: int) -> Typed:
    edge = 10**precision - 1
    numbers = st.sampled_from([0, 1, -1, edge, -edge, 10 ** (precision - 1)]) | st.integers(-edge, edge)
    values = numbers.map(lambda number: Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale)))
    return Typed(DataType(Kind.DECIMAL, precision=precision, scale=scale), values)


def integers(kind: Kind, bits: int) -> Typed:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    return Typed(DataType(kind), st.sampled_from([low, high, 0]) | st.integers(low, high))


def ticks(kind: Kind, edges: list[int], low: int, high: int, unit: str = "") -> Typed:
    return Typed(DataType(kind, unit=unit), st.sampled_from(edges) | st.integers(low, high))


BIG = 2**63 - 1
SCALARS = [
    Typed(DataType(Kind.STRING), TEXTS),
    Typed(DataType(Kind.BOOLEAN), st.booleans()),
    integers(Kind.TINYINT, 8),
    integers(Kind.INT, 32),
    integers(Kind.BIGINT, 64),
    Typed(DataType(Kind.DOUBLE), st.sampled_from(DOUBLES) | st.floats()),
    Typed(DataType(Kind.FLOAT), st.sampled_from(SINGLES) | st.floats(width=32)),
    decimals(10, 2),
    decimals(18, 15),
    decimals(38, 0),
    decimals(38, 38),
    decimals(39, 20),
    decimals(76, 76),
    Typed(NUMBER, st.sampled_from(["0", "-1", "0.0000000001", "1" * 90, "NaN", "-Infinity", "1.10"])),
    ticks(Kind.DATE, DAYS, -(2**31), 2**31 - 1),
    ticks(Kind.TIME, [0, DAY - 1, 1, 500_000], 0, DAY - 1),
    ticks(Kind.TIME, [0, DAY * 1000 - 1, 1], 0, DAY * 1000 - 1, "ns"),
    ticks(Kind.TIMESTAMP, MOMENTS, -BIG, BIG),
    ticks(Kind.TIMESTAMP_TZ, MOMENTS, -BIG, BIG),
    ticks(Kind.TIMESTAMP, [0, -1, 1_500_000_001, BIG, -BIG], -BIG, BIG, "ns"),
    ticks(Kind.TIMESTAMP_TZ, [0, -1, 1_500_000_001, BIG, -BIG], -BIG, BIG, "ns"),
]
BYTES = Typed(
    DataType(Kind.BYTES), st.sampled_from([b"", b"\x00", b"[1, 2]", b"\xff\xfe", b"ab"]) | st.binary(max_size=5)
)


def arrays(inner: Typed) -> Typed:
    return Typed(DataType(Kind.ARRAY, element=inner.dtype), st.lists(inner.values | st.none(), max_size=3))


def rows(inner: Typed) -> Typed:
    dtype = DataType(Kind.ROW, fields=(("f", inner.dtype),))
    return Typed(dtype, st.fixed_dictionaries({"f": inner.values | st.none()}))


def wide_rows(inner: Typed) -> Typed:
    dtype = DataType(Kind.ROW, fields=(("a_b", inner.dtype), ("n", DataType(Kind.INT))))
    return Typed(dtype, st.fixed_dictionaries({"a_b": inner.values | st.none(), "n": st.integers(0, 9) | st.none()}))


def maps(inner: Typed) -> Typed:
    dtype = DataType(Kind.MAP, key=DataType(Kind.STRING), element=inner.dtype)
    return Typed(
        dtype, st.dictionaries(TEXTS, inner.values | st.none(), max_size=3).map(lambda found: [*found.items()])
    )


def keyed(key: Typed) -> Typed:
    """A map whose keys are of that type."""
    dtype = DataType(Kind.MAP, key=key.dtype, element=DataType(Kind.INT))
    pairs = st.lists(st.tuples(key.values, st.integers(0, 9)), max_size=3, unique_by=lambda pair: str(pair[0]))
    return Typed(dtype, pairs)


WRAPS = [arrays, rows, wide_rows, maps]


@st.composite
def columns(draw: st.DrawFn, depth: int, scalars: list[Typed], rows_max: int = 4) -> tuple[DataType, pa.Array]:
    """A type of up to that depth, and a column of it with nulls."""
    typed = draw(st.sampled_from(scalars))
    for _ in range(draw(st.integers(0, depth))):
        typed = draw(st.sampled_from(WRAPS))(typed)
    values = draw(st.lists(typed.values | st.none(), min_size=1, max_size=rows_max))
    return typed.dtype, pa.array(values, to_arrow(typed.dtype))


def same(one: pa.Array, other: pa.Array) -> bool:
    """Equal values, bit by bit, but for the many forms of what is not a number."""
    return bool(one.type == other.type and _plain(one) == _plain(other))


def _plain(array: Any) -> Any:
    t = pa.types
    if t.is_temporal(array.type):
        return array.view(pa.int32() if array.type.bit_width == 32 else pa.int64()).to_pylist()
    if t.is_floating(array.type):
        return [None if value is None else value.hex() for value in array.to_pylist()]
    if t.is_struct(array.type):
        children = [_plain(array.field(index)) for index in range(array.type.num_fields)]
        there = array.is_valid().to_pylist()
        return [values if is_there else None for is_there, *values in zip(there, *children, strict=True)]
    if t.is_map(array.type):
        return _parts(
            array, lambda one, two: [*zip(_plain(array.keys)[one:two], _plain(array.items)[one:two], strict=True)]
        )
    if t.is_list(array.type):
        values = _plain(array.values)
        return _parts(array, lambda one, two: values[one:two])
    return array.to_pylist()


def _parts(array: Any, part: Any) -> list[Any]:
    ends = array.offsets.to_pylist()
    there = array.is_valid().to_pylist()
    return [part(ends[at], ends[at + 1]) if is_there else None for at, is_there in enumerate(there)]
