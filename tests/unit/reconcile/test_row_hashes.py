"""Rows have equal hashes where their values are equal, whatever their buffers hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatunnel_py.reconcile.row_hashes import Hashes, combined, value_hashes

VALUES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "bigint": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "tinyint": (pa.int8(), st.integers(-128, 127)),
    "boolean": (pa.bool_(), st.booleans()),
    "double": (pa.float64(), st.floats()),
    "float": (pa.float32(), st.floats(width=32)),
    "text": (pa.string(), st.text(max_size=30)),
    "long text": (pa.large_string(), st.text(max_size=30)),
    "bytes": (pa.binary(), st.binary(max_size=30)),
    "fixed": (pa.binary(3), st.binary(min_size=3, max_size=3)),
    "decimal": (pa.decimal128(38, 4), st.decimals(-(10**30), 10**30, places=4)),
    "wide decimal": (pa.decimal256(70, 4), st.decimals(-(10**60), 10**60, places=4)),
    "date": (pa.date32(), st.dates()),
    "time": (pa.time64("us"), st.times()),
    "timestamp": (pa.timestamp("us"), st.datetimes()),
    "instant": (pa.timestamp("us", "UTC"), st.datetimes(timezones=st.none())),
}


def row_hashes(columns: list[pa.Array], rows: int) -> Hashes:
    return combined([value_hashes(column) for column in columns], rows)


def canonical(value: Any) -> Any:
    """What SQL compares: one NaN, one zero."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return value


@settings(max_examples=60, deadline=None)
@given(st.data())
@pytest.mark.parametrize("name", VALUES)
def test_values_have_equal_hashes_exactly_if_they_are_equal(name: str, data: st.DataObject) -> None:
    dtype, strategy = VALUES[name]
    values = data.draw(st.lists(st.none() | strategy, max_size=12))
    array = pa.array(values, dtype)

    hashes = value_hashes(array).tolist()

    shown = [canonical(value) for value in values]
    for one, hash_of_one in zip(shown, hashes, strict=True):
        for other, hash_of_other in zip(shown, hashes, strict=True):
            assert (hash_of_one == hash_of_other) == (one == other), (one, other)


@settings(max_examples=60, deadline=None)
@given(st.data())
@pytest.mark.parametrize("name", VALUES)
def test_the_place_in_a_buffer_does_not_count(name: str, data: st.DataObject) -> None:
    """Slices begin anywhere in their buffers, and slots of nulls hold any bytes."""
    dtype, strategy = VALUES[name]
    values = data.draw(st.lists(st.none() | strategy, min_size=1, max_size=20))
    start = data.draw(st.integers(0, len(values)))
    whole = value_hashes(pa.array(values, dtype))

    assert value_hashes(pa.array(values, dtype).slice(start)).tolist() == whole[start:].tolist()

    filled = pa.array([value if value is not None else data.draw(strategy) for value in values], dtype)
    nulls = pa.array([value is None for value in values])
    masked = pa.Array.from_buffers(dtype, len(values), [pc.invert(nulls).buffers()[1], *filled.buffers()[1:]])
    assert value_hashes(masked).tolist() == whole.tolist()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.none() | st.binary(max_size=80), min_size=1, max_size=20))
def test_a_long_text_beside_others_does_not_count(values: list[bytes | None]) -> None:
    """Columns with long texts are hashed in another way."""
    alone = [int(value_hashes(pa.array([value], pa.binary()))[0]) for value in values]
    long = b"x" * 1000

    assert value_hashes(pa.array([*values, long], pa.binary()))[:-1].tolist() == alone


def test_zeros_at_the_end_and_the_order_of_words_count() -> None:
    texts = pa.array([b"", b"\0", b"\0" * 8, b"\0" * 9, b"a" * 8 + b"b" * 8, b"b" * 8 + b"a" * 8, None], pa.binary())

    assert len(set(value_hashes(texts).tolist())) == len(texts)


def test_columns_do_not_change_places() -> None:
    one, other = pa.array(["a", "b", None]), pa.array(["b", "a", None])

    assert row_hashes([one, other], 3)[0] != row_hashes([other, one], 3)[0]
    assert row_hashes([one, other], 3)[2] == row_hashes([other, one], 3)[2]
    assert row_hashes([], 2).tolist() == row_hashes([], 2)[::-1].tolist()


def test_hashes_fill_all_ranges() -> None:
    """Neighbouring numbers are spread: no range gets more than a few times its share."""
    counts = np.bincount((row_hashes([pa.array(range(200_000))], 200_000) >> np.uint64(56)).astype(int), minlength=256)

    assert counts.min() > 600 and counts.max() < 1000  # 781 on average


def test_a_nested_column_has_no_form_here() -> None:
    with pytest.raises(ValueError, match="list"):
        value_hashes(pa.array([[1]]))
