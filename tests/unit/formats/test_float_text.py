"""Numbers in text formats: the spelling of Java and of Spark's casts, which the console's rows have one by one."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.api import DataType, Kind
from seatunnel_py.formats.row_text import text_of
from seatunnel_py.formats.value_text import float_text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (-2.5, "-2.5"),
        (100000.0, "100000.0"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (12345678.5, "1.23456785E7"),
        (-9876543210.0, "-9.87654321E9"),
        (1e10, "1.0E10"),
        (1.5e300, "1.5E300"),
        (0.001, "0.001"),
        (0.000999, "9.99E-4"),
        (1e-6, "1.0E-6"),
        (1.25e-10, "1.25E-10"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (None, None),
    ],
)
def test_a_number_is_spelt_as_java_spells_it(number: float | None, text: str | None) -> None:
    assert float_text(pa.array([number], pa.float64())).to_pylist() == [text]
    assert float_text(pa.array([number, 1.0], pa.float64())).to_pylist() == [text, "1.0"]


def test_a_single_has_its_own_shortest_digits() -> None:
    assert float_text(pa.array([0.1, 3.4e38, 16777216.0], pa.float32())).to_pylist() == ["0.1", "3.4E38", "1.6777216E7"]
    assert float_text(pa.array([1.5], pa.float32()).cast(pa.float16())).to_pylist() == ["1.5"]


@given(st.lists(st.floats() | st.floats(-1e11, 1e11) | st.floats(-1e-2, 1e-2)))
def test_columns_and_single_values_are_spelt_alike(numbers: list[float]) -> None:
    double = DataType(Kind.DOUBLE)
    assert float_text(pa.array(numbers, pa.float64())).to_pylist() == [text_of(number, double) for number in numbers]


@given(st.lists(st.floats(width=32)))
def test_singles_are_spelt_as_single_values_are(numbers: list[float]) -> None:
    single = DataType(Kind.FLOAT)
    assert float_text(pa.array(numbers, pa.float32())).to_pylist() == [text_of(number, single) for number in numbers]


@given(st.lists(st.floats(allow_nan=False)))
def test_the_text_gives_the_number_back(numbers: list[float]) -> None:
    for number, text in zip(numbers, float_text(pa.array(numbers, pa.float64())).to_pylist(), strict=True):
        assert struct.pack(">d", float(text)) == struct.pack(">d", number)
