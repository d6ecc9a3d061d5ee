"""Text of values: one form for each type, and reading gives back what was written, bit by bit."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from drawn_values import BYTES, SCALARS, Typed, columns, keyed, same
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatunnel_py.api import BadRowsError, DataType, Kind, parse_type, to_arrow
from seatunnel_py.formats.json.columns import json_column
from seatunnel_py.formats.json.text import json_values
from seatunnel_py.formats.json.values import DOCUMENTS
from seatunnel_py.formats.value_text import MisfitError, TextRules, lost_by, text_column, text_values

QUICK = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NULLED = TextRules(null_format="\\N")


@QUICK
@given(columns(3, SCALARS))
def test_text_gives_every_value_back(column: tuple[DataType, pa.Array]) -> None:
    """T14, T27: null, an empty text and a container of nothing; separators inside of values."""
    dtype, array = column
    try:
        texts = text_values(array, dtype, NULLED)
    except BadRowsError as error:
        assert "null_format" in error.message  # a value that is written as null is
        return
    if dtype.kind is Kind.STRING and "\\N" in array.to_pylist():
        return  # refused where columns are written
    assert same(text_column(texts, dtype, NULLED), array)


@QUICK
@given(columns(3, SCALARS))
def test_text_without_a_null_format_gives_containers_back(column: tuple[DataType, pa.Array]) -> None:
    dtype, array = column
    found = text_column(text_values(array, dtype, TextRules()), dtype, TextRules())
    if dtype.kind is Kind.STRING:  # null and an empty text are one there, as in SeaTunnel
        array = pa.array([value or None for value in array.to_pylist()], array.type)
    assert same(found, array)


@QUICK
@given(columns(3, [*SCALARS, BYTES]))
def test_json_gives_every_value_back(column: tuple[DataType, pa.Array]) -> None:
    """T20, T23, T28, P3-F5."""
    dtype, array = column
    cells = [DOCUMENTS.decode(text) for text in json_values(array, dtype, TextRules()).to_pylist()]
    assert same(json_column(cells, dtype, TextRules()), array)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from([*SCALARS, BYTES]).map(keyed).flatmap(lambda typed: st.tuples(st.just(typed), typed.values)))
def test_keys_of_maps_are_written_as_values_are(drawn: tuple[Typed, list[object]]) -> None:
    typed, value = drawn
    array = pa.array([value], to_arrow(typed.dtype))
    [text] = json_values(array, typed.dtype, TextRules()).to_pylist()
    assert same(json_column([DOCUMENTS.decode(text)], typed.dtype, TextRules()), array)
    if typed.dtype.key is not None and typed.dtype.key.kind is not Kind.BYTES:
        texts = text_values(array, typed.dtype, TextRules())
        assert same(text_column(texts, typed.dtype, TextRules()), array)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("decimal(18, 15)", Decimal("0E-15"), "0.000000000000000"),
        ("decimal(20, 10)", Decimal("1E-10"), "0.0000000001"),
        ("decimal(20, 10)", Decimal("-9E-7"), "-0.0000009000"),
        ("decimal(76, 40)", Decimal("1E-40"), "0." + "0" * 39 + "1"),
        ("date", 11_248_738, "+32768-01-01"),
        ("date", 2_932_897, "+10000-01-01"),
        ("date", -735_160, "-0043-03-15"),
        ("timestamp", 253_402_300_800_000_000, "+10000-01-01 00:00:00"),
        ("timestamp", -735_160 * 86_400_000_000 + 36_000_000_000, "-0043-03-15 10:00:00"),
        ("timestamp", 45_296_789_123, "1970-01-01 12:34:56.789123"),
        ("timestamp", 45_296_500_000, "1970-01-01 12:34:56.5"),
        ("timestamp(9)", 1, "1970-01-01 00:00:00.000000001"),
        ("timestamp_tz", 0, "1970-01-01 00:00:00Z"),
        ("time", 45_296_789_123, "12:34:56.789123"),
        ("time(9)", 1, "00:00:00.000000001"),
    ],
)
def test_each_type_has_one_form(kind: str, value: object, text: str) -> None:
    """T3, T9, P3-F4, P3-F5: all the digits, no exponent, no year out of range."""
    dtype = parse_type(kind)
    array = pa.array([value], to_arrow(dtype))
    assert text_values(array, dtype, TextRules()).to_pylist() == [text]
    assert json_values(array, dtype, TextRules())[0].as_py().strip('"') == text.replace(" ", "T")
    assert same(text_column(pa.array([text]), dtype, TextRules()), array)


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        ("boolean", "maybe", "is not a boolean"),
        ("boolean", "2", "is not a boolean"),
        ("decimal(10, 2)", "1.005", "3 digits after the point"),
        ("decimal(38, 0)", "0.5", "1 digits after the point"),
        ("decimal(3, 1)", "1e-77", "77 digits after the point"),
        ("decimal(3, 1)", "100", "more digits before the point"),
        ("float", "1e39", "too large"),
        ("double", "1e400", "too large"),
        ("double", "-1e400", "too large"),
        ("double", "1e-400", "too small"),
        ("float", "1e-50", "too small"),
        ("float", "0." + "0" * 60 + "1", "too small"),
        ("date", "2024-01-31 23:59:59", "it has a time of day"),
        ("time", "2024-01-31 23:59:59", "is not a time"),
        ("time", "24:00:00", "is not a time"),
        ("time", "12", "is not a time"),
        ("timestamp", "2024-01-31 24:00:00", "is not a timestamp"),
        ("timestamp", "2024-02-30 00:00:00", "is not a timestamp"),
        ("timestamp", "2024-01-31 00:00:00Z", "is not a timestamp"),
        ("timestamp", "2024-01-31 00:00:00.1234567", r"more than 6 digits of a second; .*timestamp\(9\)"),
        ("time", "12:34:56.1234567", "more than 6 digits of a second"),
        ("timestamp(9)", "2300-01-01 00:00:00", "outside of the years"),
        ("timestamp(9)", "2024-01-01 00:00:00.0000000001", "more than 9 digits"),
        ("number", "1,5", "is not a number"),
        ("int", "1.0", "is not a int"),
        ("array<int>", "1\x02x", "is not a int"),
        ("map<string, int>", "a\x031\x02a\x032", "has a key twice"),
        ("{a = int}", "1\x022", "more values than the 1 fields"),
    ],
)
@pytest.mark.parametrize("neighbours", [[], ["good"]])
def test_what_does_not_fit_is_refused_whatever_stands_beside_it(
    kind: str, text: str, why: str, neighbours: list[str]
) -> None:
    """T6, T13, T16, T17, T19, P3-A3: nothing is rounded, cut, or made false."""
    dtype = parse_type(kind)
    good = {
        "boolean": "true", "date": "2024-01-31", "time": "12:00:00", "number": "1", "map<string, int>": "a\x031",
    }  # fmt: skip
    fallback = "2024-01-31 00:00:00" if "timestamp" in kind else "1"
    texts = [good.get(kind, fallback) for _ in neighbours] + [text]
    with pytest.raises(MisfitError, match=why) as error:
        text_column(pa.array(texts), dtype, TextRules())
    assert error.value.index == len(neighbours)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        *((("boolean"), word, True) for word in ("true", "T", "1", "Yes", "y", "ON", " true ")),
        *((("boolean"), word, False) for word in ("false", "F", "0", "No", "n", "oFF")),
        ("decimal(10, 2)", "1.1000000000000000000000000000000000000000000000000000", Decimal("1.10")),
        ("decimal(10, 2)", "1e2", Decimal("100.00")),
        ("double", "1.5d", 1.5),
        ("double", "-inf", float("-inf")),
        ("double", "0e-999", 0.0),
        ("int", "+5", 5),
        ("number", "1E-3", "0.001"),
        ("number", "-inf", "-Infinity"),
        ("date", "2024-01-31 00:00:00", "2024-01-31"),
        ("date", "2024年1月31日", "2024-01-31"),
        ("timestamp", "2024-01-31 00:00:00.1234560", "2024-01-31 00:00:00.123456"),
        ("timestamp", "20240131123456", "2024-01-31 12:34:56"),
        ("timestamp", "2024-01-31 10", "2024-01-31 10:00:00"),
        ("timestamp_tz", "2024-01-31 12:00:00+05:30", "2024-01-31 06:30:00Z"),
        ("timestamp_tz", "10000-01-01T00:00:00-05", "+10000-01-01 05:00:00Z"),
    ],
)
@pytest.mark.parametrize("beside", [None, "a spelling that only the slow way takes"])
def test_spellings_that_are_taken(kind: str, text: str, value: object, beside: str | None) -> None:
    dtype = parse_type(kind)
    slow = {"boolean": "on", "double": "1f", "int": "+1", "date": "2024/01/31", "number": "1e1"}.get(kind, "")
    found = text_column(pa.array([text, slow if beside else ""]), dtype, TextRules())[:1]
    assert (text_values(found, dtype, TextRules()) if isinstance(value, str) else found).to_pylist() == [value]


def test_seatunnels_plain_form_stays_readable() -> None:
    dtype = parse_type("{a = array<string>, m = map<string, int>, b = string}")
    text = "x\x03\x03z\x02k\x051\x02tail\\"
    found = text_column(pa.array([text]), dtype, TextRules()).to_pylist()
    assert found == [{"a": ["x", None, "z"], "m": None, "b": "tail\\"}] or found[0]["a"] == ["x", None, "z"]


@pytest.mark.parametrize(
    ("pattern", "kind", "lost"),
    [
        ("yyyy-MM-dd HH:mm:ss", "timestamp", "fraction of a second"),
        ("yyyy-MM-dd HH:mm:ss.SSS", "timestamp", "digits of a second beyond 3"),
        ("yyyy-MM-dd HH:mm:ss.SSSSSS", "timestamp", ""),
        ("yyyy-MM-dd HH:mm:ss.SSSSSS", "timestamp(9)", "digits of a second beyond 6"),
        ("yyyy-MM-dd HH:mm", "timestamp", "second, fraction of a second"),
        ("yy-MM-dd", "date", "century"),
        ("yyyy-MM-dd", "date", ""),
        ("hh:mm:ss a", "time", "fraction of a second"),
    ],
)
def test_a_pattern_says_what_it_drops(pattern: str, kind: str, lost: str) -> None:
    assert lost_by(pattern, parse_type(kind)) == lost


def test_a_pattern_has_no_form_for_years_that_it_would_damage() -> None:
    dtype = parse_type("date")
    with pytest.raises(BadRowsError, match=r"no form for the year of \+10000-01-01"):
        text_values(pa.array([2_932_897], pa.int32()).cast(pa.date32()), dtype, TextRules(date="yyyy.MM.dd"))


def test_a_time_beyond_a_day_is_refused() -> None:
    dtype = parse_type("time")
    with pytest.raises(BadRowsError, match="not within one day"):
        text_values(pa.array([86_400_000_000], pa.int64()).cast(pa.time64("us")), dtype, TextRules())
