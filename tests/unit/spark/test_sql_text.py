"""Queries as text, without Spark: where the hidden column goes, and what is translated when nobody knows types."""

from __future__ import annotations

import pytest

from seatunnel_py.api import Column, TablePath, TableSchema, parse_type
from seatunnel_py.spark.dialect.translate import translate
from seatunnel_py.spark.query.errors import first_sentence
from seatunnel_py.spark.query.row_origin import with_row
from seatunnel_py.spark.query.types import column_type, spark_type

TABLE = TableSchema(TablePath("", "", "t"), (Column("a", parse_type("int")), Column("name", parse_type("string"))))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT a FROM t", "SELECT a, `__seatunnel_row` FROM t"),
        ("SELECT * FROM t", "SELECT * FROM t"),
        ("SELECT t.*, a + 1 AS b FROM t", "SELECT t.*, a + 1 AS b FROM t"),
        ("SELECT a * 2 AS b FROM t", "SELECT a * 2 AS b, `__seatunnel_row` FROM t"),
        ("SELECT extract(YEAR FROM x) AS y FROM t", "SELECT extract(YEAR FROM x) AS y, `__seatunnel_row` FROM t"),
        (
            "SELECT a FROM (SELECT a FROM t) AS q",
            "SELECT a, `__seatunnel_row` FROM (SELECT a, `__seatunnel_row` FROM t) AS q",
        ),
        ("SELECT 'x FROM y' AS s FROM t", "SELECT 'x FROM y' AS s, `__seatunnel_row` FROM t"),
    ],
)
def test_the_hidden_column_goes_in_front_of_from(query: str, expected: str) -> None:
    assert with_row(query) == expected


@pytest.mark.parametrize("query", ["SELECT 1", "SELECT struct(*) AS s FROM t", "SELECT (SELECT 1) AS x FROM t"])
def test_where_it_has_no_place(query: str) -> None:
    with pytest.raises(ValueError, match=r"SELECT without FROM|a star inside"):
        with_row(query)


def test_text_is_quoted_for_spark() -> None:
    """SeaTunnel knows no backslash escapes and Spark does; names keep their quotes."""
    query = "select 'it''s \\d' as x, `odd name`, \"standard\" from t"

    text = translate(query, {"t": TABLE}, "seatunnel")

    assert text == "SELECT 'it\\'s \\\\d' AS x, `odd name`, `standard` FROM `t` AS `t`"


def test_an_input_by_its_name_in_the_job() -> None:
    """SeaTunnel's job files read it as ``dual`` and call its columns by its name, also those inside of a row."""
    text = translate(
        "select job.`a`, job.r.x, upper(job.name) as n from dual where job.a > 1", {"job": TABLE}, "seatunnel"
    )

    assert text == ("SELECT `dual`.`a`, `dual`.r.x, upper(`dual`.name) AS n FROM `job` AS `dual` WHERE `dual`.a > 1")


def test_without_types_the_translation_is_the_general_one() -> None:
    text = translate("select cast(b as timestamp) as x, b / 2 as y, 1.5 as z from t", {"t": TABLE}, "seatunnel")

    assert text == "SELECT CAST(b AS TIMESTAMP_NTZ) AS x, b / 2 AS y, 1.5D AS z FROM `t` AS `t`"


def test_an_error_of_our_own_function_in_its_words() -> None:
    """Spark would show the trace of the Python worker."""
    text = (
        "[PYTHON_EXCEPTION] An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
        '  File "x.py", line 3, in f\n    raise ValueError("no")\nValueError: DES_DECRYPT: no\n\n\tat java.Thread'
    )

    assert first_sentence(RuntimeError(text)) == "DES_DECRYPT: no"


def test_sparks_dialect_is_left_as_it_is() -> None:
    """Comments, case and hints included; only the name of the input changes."""
    query = "select /*+ x */ A, upper(name) -- loud\nfrom other o where o.a > 1"

    assert translate(query, {"t": TABLE}, "spark") == query.replace("other", "`t`")
    assert translate("FROM t |> SELECT a", {"t": TABLE}, "spark") == "FROM t |> SELECT a"


@pytest.mark.parametrize(
    "dtype",
    ["tinyint", "decimal(10, 2)", "timestamp", "timestamp_tz", "time", "array<map<string, int>>", "{a = {b = bytes}}"],
)
def test_types_have_a_name_in_spark(dtype: str) -> None:
    assert spark_type(parse_type(dtype))


def test_a_type_without_counterpart_is_refused() -> None:
    with pytest.raises(ValueError, match="Spark's type variant has no column type"):
        column_type("variant")
