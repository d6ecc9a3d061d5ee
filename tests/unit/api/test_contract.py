"""The contract for values: a conversion gives the same value or names the first row that would change."""

from __future__ import annotations

import datetime as dt
from decimal import Context, Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.api import (
    DataType,
    Kind,
    Outcome,
    ValueMisfitError,
    convert,
    from_arrow,
    parse_type,
    stored_as,
    to_arrow,
)
from seatunnel_py.api.types import DOUBLE, FLOAT, NUMBER, STRING, TIMESTAMP, array, decimal

WIDE = Context(prec=400)
DECIMALS = st.builds(
    lambda digits, exponent: Decimal(digits).scaleb(exponent, WIDE),
    st.integers(-(10**80), 10**80) | st.integers(-1000, 1000),
    st.integers(-90, 10),
)
TARGETS = st.sampled_from(
    [decimal(10, 2), decimal(38, 18), decimal(5, 5), decimal(38, 0), decimal(76, 40), decimal(1, 0)]
)


def fits(value: Decimal, target: DataType) -> bool:
    scaled = value.scaleb(target.scale, WIDE)
    return scaled == scaled.to_integral_value(context=WIDE) and abs(scaled) < 10**target.precision


def outcome(values: list[object], source: DataType, target: DataType, digits: int = -1) -> list[object] | int:
    """The converted values, or the row that was refused."""
    try:
        return convert(pa.array(values, to_arrow(source)), source, target, digits).to_pylist()  # type: ignore[no-any-return]
    except ValueMisfitError as error:
        return error.row


@given(st.lists(DECIMALS | st.none(), max_size=5), TARGETS)
def test_number_texts_become_decimals_exactly_or_name_their_row(values: list[Decimal | None], target: DataType) -> None:
    """T1, T10, T13, P3-F3."""
    texts = [None if value is None else format(value, "f") for value in values]
    bad = next((at for at, value in enumerate(values) if value is not None and not fits(value, target)), None)
    found = outcome(list(texts), NUMBER, target)
    assert found == (values if bad is None else bad)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "", "1e5", "abc"])
def test_words_are_no_decimals(word: str) -> None:
    assert outcome(["1", word], NUMBER, decimal(38, 18)) == 1


@given(st.floats(allow_nan=False, allow_infinity=False), TARGETS)
def test_floating_numbers_become_decimals_of_all_their_digits(value: float, target: DataType) -> None:
    """T29: a double into a narrower numeric column."""
    exact = Decimal(repr(value))
    assert outcome([value], DOUBLE, target) == ([exact] if fits(exact, target) else 0)


@given(st.builds(lambda n, s: Decimal(n).scaleb(-s, WIDE), st.integers(-(10**27), 10**27), st.integers(0, 10)))
def test_decimals_become_doubles_only_if_their_digits_come_back(value: Decimal) -> None:
    """T29: 17 digits of a double, 9 of a real."""
    for target in (DOUBLE, FLOAT):
        found = outcome([value], decimal(38, 10), target)
        near = pa.array([float(value)], to_arrow(target))
        kept = Decimal(near.cast(pa.string())[0].as_py()) == value
        assert found == (near.to_pylist() if kept else 0)


@given(st.integers(-(10**15), 10**15), st.integers(0, 6))
def test_fractions_of_a_second_are_kept_or_refused(micros: int, digits: int) -> None:
    """T30: a timestamp into a column of fewer digits; before 1970 too."""
    value = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=micros)  # noqa: DTZ001  (a timestamp has no zone)
    kept = micros % 10 ** (6 - digits) == 0
    assert outcome([value], TIMESTAMP, TIMESTAMP, digits) == ([value] if kept else 0)


def test_nanoseconds_are_kept_or_refused() -> None:
    """T16: -1 ns is not 1970-01-01 00:00:00."""
    nanos = parse_type("timestamp(9)")
    assert from_arrow(to_arrow(nanos)) == nanos
    moments = pa.array([1000, -1], pa.timestamp("ns"))
    with pytest.raises(ValueMisfitError) as error:
        convert(moments, nanos, TIMESTAMP)
    assert error.value.row == 1
    assert convert(moments.slice(0, 1), nanos, TIMESTAMP).cast(pa.int64()).to_pylist() == [1]


def test_elements_follow_the_rules_of_columns() -> None:
    """T11, T32: nested as top level; the row is named, not the element."""
    source, target = array(NUMBER), array(decimal(4, 2))
    assert stored_as(source, target).outcome is Outcome.CHECKED
    rows = pa.array([["1"], None, [], ["1.25", None], ["0.001"]])
    assert outcome(rows[:4].to_pylist(), source, target) == [[Decimal("1.00")], None, [], [Decimal("1.25"), None]]
    assert outcome(rows.to_pylist(), source, target) == 4


@pytest.mark.parametrize(
    ("text", "kind", "good"),
    [
        ("2024-02-01", Kind.DATE, True),
        ("01/02/2024", Kind.DATE, False),
        ("2024-02-30", Kind.DATE, False),
        ("2024-01-31 23:59:59", Kind.DATE, False),
        ("23:59:59.5", Kind.TIME, True),
        ("24:00", Kind.TIME, False),
        ("2024-01-31 23:59:59.123456", Kind.TIMESTAMP, True),
        ("2024-01-31T23:59:59+02", Kind.TIMESTAMP, False),
        ("2024-01-31T23:59:59+02", Kind.TIMESTAMP_TZ, True),
        ("2024-01-31 23:59:59", Kind.TIMESTAMP_TZ, False),
    ],
)
def test_texts_become_dates_only_in_iso_form(text: str, kind: Kind, good: bool) -> None:
    """T39: no DateStyle of a server decides what 01/02/2024 is."""
    assert stored_as(STRING, DataType(kind)).outcome is Outcome.CHECKED
    assert (outcome([text], STRING, DataType(kind)) != 0) is good


def test_every_pair_of_types_has_a_verdict_and_the_default_is_refused() -> None:
    for source in Kind:
        for target in Kind:
            found = stored_as(_some(source), _some(target))
            assert found.outcome is not Outcome.REFUSED or found.note
            if source is target:
                assert found.outcome in (Outcome.EXACT, Outcome.CHECKED), source
    assert stored_as(_some(Kind.BYTES), DOUBLE).outcome is Outcome.REFUSED
    assert stored_as(DOUBLE, FLOAT).outcome is Outcome.REFUSED


def _some(kind: Kind) -> DataType:
    match kind:
        case Kind.DECIMAL:
            return decimal(10, 2)
        case Kind.ARRAY:
            return array(STRING)
        case Kind.MAP:
            return parse_type("map<string, int>")
        case Kind.ROW:
            return parse_type("{a = int}")
        case _:
            return DataType(kind)


@pytest.mark.parametrize("text", ["number", "timestamp(9)", "decimal(60, 40)", "array<number>", "{a = time(9)}"])
def test_types_are_written_as_they_are_read(text: str) -> None:
    assert str(parse_type(text)) == text
