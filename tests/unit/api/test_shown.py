"""Any value can be shown, and nothing that is shown steers a terminal (P3-F4, P4-F3)."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.api.text.shown import date_text, shown_values, value_text
from seatunnel_py.terminal_text import terminal_text


@given(st.dates())
def test_dates_are_those_of_python_where_it_has_them(value: date) -> None:
    assert date_text((value - date(1970, 1, 1)).days) == value.isoformat()


@given(st.datetimes(), st.sampled_from(["us", "ns", "ms", "s"]))
def test_moments_give_the_number_back(value: datetime, unit: str) -> None:
    if unit != "us":
        value = value.replace(microsecond=0)
    if unit == "ns" and not 1678 < value.year < 2262:
        return
    (text,) = shown_values(pa.array([value], pa.timestamp(unit)))
    assert datetime.fromisoformat(text) == value


@pytest.mark.parametrize(
    ("array", "shown"),
    [
        (pa.array([2932897, 11248738, -735160, None], pa.int32()).cast(pa.date32()),
         ["+10000-01-01", "+32768-01-01", "-0043-03-15", None]),
        (pa.array([253402300800], pa.int64()).cast(pa.timestamp("s")), ["+10000-01-01T00:00"]),
        (pa.array([1], pa.int64()).cast(pa.timestamp("ns", "UTC")), ["1970-01-01T00:00:00.000000001Z"]),
        (pa.array([3723000000001], pa.int64()).cast(pa.time64("ns")), ["01:02:03.000000001"]),
        (pa.array([timedelta(days=2, microseconds=1)]), ["172800.000001 s"]),
        (pa.array([2**62], pa.int64()).cast(pa.duration("s")), ["4611686018427387904 s"]),
        (pa.array([[date(1, 1, 1)], None, []]), [["0001-01-01"], None, []]),
        (pa.array([[("a", time(1, 2))]], pa.map_(pa.string(), pa.time64("us"))), [[("a", "01:02")]]),
        (pa.array([{"at": datetime(2024, 1, 1, tzinfo=UTC)}, None]), [{"at": "2024-01-01T00:00Z"}, None]),
        (pa.array([[[date(2024, 2, 29)]]]).slice(0, 1), [[["2024-02-29"]]]),
        (pa.array(["x", "y", "x"]).dictionary_encode(), ["x", "y", "x"]),
    ],
)  # fmt: skip
def test_any_value_is_shown(array: pa.Array, shown: list[Any]) -> None:
    """A date beyond the year 9999 ended `preview` with a trace."""
    assert shown_values(array) == shown
    assert shown_values(pa.chunked_array([array, array.slice(1)])) == [*shown, *shown[1:]]


def test_the_words_for_values() -> None:
    shown = {
        None: "null", True: "true", float("nan"): "NaN", float("-inf"): "-Infinity", 1e300: "1e+300",
        Decimal("0E-15"): "0.000000000000000", Decimal("1E-10"): "0.0000000001", b"\x00a": "b'\\x00a'", "a": "a", 7: "7",
    }  # fmt: skip
    assert {value_text(value) for value in shown} == set(shown.values())
    assert value_text([Decimal("1.10"), "a", None, {"b": [1]}, ("k", 2)]) == "[1.10, 'a', null, {b = [1]}, 'k' = 2]"


@given(st.text())
def test_nothing_steers_a_terminal(text: str) -> None:
    shown = terminal_text(text)

    assert all(character in "\t\n" or character.isprintable() or ord(character) > 159 for character in shown)
    assert terminal_text(shown) == shown
    shown.encode()


def test_what_steers_is_seen() -> None:
    """P4-F3: clear the screen, set the title, delete, C1's introducer, and text from right to left."""
    given = "v\x1b[2J\x1b]0;pwn\x07\x7f\x9b2J\u202etxt.exe\r\tx\ny"
    assert terminal_text(given) == "v\\x1b[2J\\x1b]0;pwn\\x07\\x7f\\x9b2J\\u202etxt.exe\\x0d\tx\ny"
