"""The form in which values of two types are compared follows the type contract."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from seatunnel_py.api import Column, DataType, FatalError, Kind, TablePath, TableSchema, parse_type
from seatunnel_py.reconcile.column_forms import ColumnForm, column_pairs, common_form, shortest_digits


@pytest.mark.parametrize(
    ("source", "target", "form"),
    [
        ("int", "int", "int"),
        ("int", "bigint", "bigint"),
        ("bigint", "int", "bigint"),  # the target's numbers fit the source's type
        ("timestamp_tz", "timestamp", "timestamp"),
        ("boolean", "tinyint", "tinyint"),
        ("decimal(10, 2)", "string", "string"),
        ("number", "number", "number"),
        ("array<int>", "string", "string"),
        ("array<int>", "array<int>", "string"),
        ("map<string, int>", "string", "string"),
        ("array<int>", "bytes", None),
        ("date", "bytes", None),
    ],
)
def test_the_common_form(source: str, target: str, form: str | None) -> None:
    found = common_form(parse_type(source), parse_type(target))
    assert found == (None if form is None else parse_type(form))


def test_equal_numbers_are_equal_texts() -> None:
    texts = ["1.50", "01.5", "-0", "0.0", "100", "-00.10", "NaN", "0", "-0.00", None]
    assert shortest_digits(pa.array(texts)).to_pylist() == [
        "1.5",
        "1.5",
        "0",
        "0",
        "100",
        "-0.1",
        "NaN",
        "0",
        "0",
        None,
    ]


def test_a_value_without_that_form_is_named_and_its_neighbours_are_converted() -> None:
    """The sink refuses such a row, so the target cannot have it."""
    number, amount = parse_type("number"), parse_type("decimal(5, 2)")
    array, misfits = ColumnForm("v", number, amount).of(pa.array(["1.5", "NaN", None, "1000000", "2"]))
    assert array.to_pylist() == [Decimal("1.50"), None, None, None, Decimal("2.00")] and misfits == [1, 3]
    array, misfits = ColumnForm("v", number, amount).of(pa.array([], pa.string()))
    assert array.to_pylist() == [] and misfits == []


def test_all_columns_that_cannot_be_compared_are_named() -> None:
    def table(**columns: str) -> TableSchema:
        found = tuple(Column(name, parse_type(kind)) for name, kind in columns.items())
        return TableSchema(TablePath.parse("t"), found)

    names = {"a": "a", "b": "B", "c": "c", "d": "d"}
    with pytest.raises(FatalError, match="'a': date cannot be compared with bytes; the target has no column 'd'"):
        column_pairs(table(a="date", b="int", c="int", d="int"), table(a="bytes", b="int", C="int"), names)

    pairs = column_pairs(table(b="int", c="int"), table(b="int", C="bigint"), names)
    assert [(one.name, one.target.name, one.source.form) for one in pairs] == [
        ("b", "b", DataType(Kind.INT)),
        ("c", "C", DataType(Kind.BIGINT)),
    ]
