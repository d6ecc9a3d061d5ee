"""Types that Spark has no counterpart for: a query sees them in another type, exactly or not at all."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from seatunnel_py.api import Column, TablePath, TableSchema, parse_type
from seatunnel_py.errors import BadRowsError
from seatunnel_py.plan.sql.query_types import queried, query_conversions
from seatunnel_py.spark.plugins.arrow_wire import from_wire, to_wire


def table(**types: str) -> TableSchema:
    return TableSchema(TablePath("", "", "t"), tuple(Column(name, parse_type(dtype)) for name, dtype in types.items()))


ODD = table(n="number", l="array<number>", t="timestamp(9)", c="time(9)", d="decimal(38, 2)")


def test_numbers_add_up_and_nanoseconds_are_no_microseconds() -> None:
    """T1, T16, T38: what a query computes with is named, and a value that does not fit is no other value."""
    assert [str(column.dtype) for column in queried(ODD).columns] == [
        "decimal(38, 18)", "array<decimal(38, 18)>", "timestamp", "time", "decimal(38, 2)",
    ]  # fmt: skip
    assert [(one.column, one.target, one.checked) for one in query_conversions(ODD)] == [
        ("n", "decimal(38, 18)", True),
        ("l", "array<decimal(38, 18)>", True),
        ("t", "timestamp", True),
        ("c", "time", True),
    ]


def test_values_that_fit_arrive_and_others_name_their_row() -> None:
    fits = {"n": "1.25", "l": ["0.5", None], "t": 1000, "c": 2000, "d": Decimal("1.10")}
    data = pa.RecordBatch.from_pylist([fits, dict.fromkeys(fits)], schema=ODD.arrow())
    found = from_wire(to_wire(data, ODD), queried(ODD)).to_pylist()
    moment, clock = dt.datetime(1970, 1, 1, 0, 0, 0, 1), dt.time(0, 0, 0, 2)  # noqa: DTZ001  (no zone)
    assert found == [
        {"n": Decimal("1.25"), "l": [Decimal("0.5"), None], "t": moment, "c": clock, "d": Decimal("1.10")},
        dict.fromkeys(fits),
    ]
    for name, value in {"n": "1e-30", "l": ["NaN"], "t": 1001, "c": 2001}.items():
        odd = pa.RecordBatch.from_pylist([fits, {**fits, name: value}], schema=ODD.arrow())
        with pytest.raises(BadRowsError, match=f"column '{name}'") as error:
            to_wire(odd, ODD)
        assert error.value.row == 1


def test_a_decimal_of_more_digits_than_spark_has_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"column 'w' is decimal\(39, 2\)"):
        queried(table(w="decimal(39, 2)"))
    with pytest.raises(ValueError, match="column 'w'"):
        queried(table(w="map<string, decimal(76, 0)>"))
