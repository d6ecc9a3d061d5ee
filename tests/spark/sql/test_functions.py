"""SeaTunnel's functions, executed: each keeps its value and its type."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import PySparkException

from seatunnel_py.api import Column, TablePath, TableSchema, parse_type
from seatunnel_py.plan.sql.analysis import Analysis
from seatunnel_py.spark.query.catalyst import Analyst
from seatunnel_py.spark.query.session import ddl, put_view, query_frame, query_session
from tests.spark.sql import functions_table as table

pytestmark = pytest.mark.spark

COLUMNS = {
    "i": ("int", 13),
    "s": ("smallint", 7),
    "l": ("bigint", 1687747869032),
    "d": ("decimal(10, 2)", Decimal("12.40")),
    "x": ("double", -120.72124),
    "f": ("float", 1.5),
    "name": ("string", "Joy Ding"),
    "e": ("string", ""),
    "n": ("string", None),
    "b": ("bytes", bytearray(b"\x00\xff")),
    "day": ("date", dt.date(2021, 4, 15)),
    "ts": ("timestamp", dt.datetime.fromisoformat("2021-04-15T13:34:45.235000")),
    "ts2": ("timestamp", dt.datetime.fromisoformat("2022-01-23T12:34:56")),
    "tm": ("time", dt.time(23, 51, 9)),
    "ymd": ("int", 20230625),
    "hms": ("int", 235109),
    "v": ("float_vector", [3.0, 4.0]),
    "w": ("float_vector", [4.0, 3.0]),
    "a": ("array<int>", [1, 2, 3]),
    "m": ("map<string, string>", {"k": "v"}),
    "r": ("{inner = {deep = int}}", {"inner": {"deep": 5}}),
    "flag": ("boolean", True),
}
SCHEMA = TableSchema(
    TablePath("", "", "t"), tuple(Column(name, parse_type(dtype)) for name, (dtype, _) in COLUMNS.items())
)
GROUPS = {"text": table.TEXT, "numbers": table.NUMBERS, "times": table.TIMES, "others": table.OTHERS}


@pytest.fixture(scope="module")
def analyst(session: Any) -> Analyst:
    return Analyst(session)


@pytest.fixture(scope="module")
def runner(session: Any) -> Any:
    """A query session that knows the one row."""
    own = query_session(session)
    frame = own.createDataFrame([tuple(value for _, value in COLUMNS.values())], ddl(SCHEMA))
    put_view("t", frame._jdf)
    return own


@pytest.fixture(scope="module")
def results(analyst: Analyst, runner: Any) -> dict[str, tuple[str, Any]]:
    """Type and value of every expression, from one query per group."""
    found: dict[str, tuple[str, Any]] = {}
    for group in GROUPS.values():
        listed = ", ".join(f"{expression} AS c{at}" for at, (expression, _, _) in enumerate(group))
        analysis: Analysis = analyst.analyse(f"SELECT {listed} FROM t", {"t": SCHEMA}, "seatunnel")
        (row,) = query_frame(runner, analysis.query).collect()
        for (expression, _, _), column, value in zip(group, analysis.columns, row, strict=True):
            found[expression] = (str(column.dtype), value)
    return found


@pytest.mark.parametrize(
    ("expression", "dtype", "value"), [case for group in GROUPS.values() for case in group], ids=lambda case: str(case)
)
def test_a_function_keeps_its_value_and_type(
    results: dict[str, tuple[str, Any]], expression: str, dtype: str, value: Any
) -> None:
    found_type, found = results[expression]

    assert found_type == dtype
    assert (bytes(found) if isinstance(found, bytearray) else found) == (
        pytest.approx(value, rel=1e-15) if isinstance(value, float) else value
    )


@pytest.mark.parametrize(("expression", "message"), table.REFUSED)
def test_what_cannot_keep_its_meaning_is_refused(analyst: Analyst, expression: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        analyst.analyse(f"SELECT {expression} AS c FROM t", {"t": SCHEMA}, "seatunnel")

    assert message in str(caught.value)


@pytest.mark.parametrize(("expression", "message"), table.FAILS)
def test_a_value_that_has_no_result_is_an_error(analyst: Analyst, runner: Any, expression: str, message: str) -> None:
    analysis = analyst.analyse(f"SELECT {expression} AS c FROM t", {"t": SCHEMA}, "seatunnel")

    with pytest.raises(PySparkException) as caught:
        query_frame(runner, analysis.query).collect()

    assert message in str(caught.value)
