"""Ranges: every key lies in exactly one, whatever the bounds."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_connectors.jdbc.options import JdbcSourceOptions
from seatunnel_connectors.jdbc.source.splits import KeyRange, as_text, even_bounds, key_ranges, parts_wanted
from seatunnel_connectors.jdbc.source.table_request import Partition
from seatunnel_py.api import DataType, Kind


def options(**more: Any) -> JdbcSourceOptions:
    return JdbcSourceOptions.model_validate({"url": "jdbc:postgresql://h/d", "table_path": "t", **more})


class Probe:
    """A table that holds these keys."""

    def __init__(self, keys: list[Any]) -> None:
        self.keys = sorted(keys)
        self.asked: list[str] = []

    def bounds(self) -> tuple[Any, Any]:
        self.asked.append("bounds")
        return (self.keys[0], self.keys[-1]) if self.keys else (None, None)

    def quantiles(self, parts: int, *, exact: bool) -> list[Any]:
        self.asked.append("exact" if exact else "sampled")
        return [self.keys[len(self.keys) * at // parts] for at in range(1, parts)] if self.keys else []


def ranges(
    kind: Kind, probe: Probe, parts: int, *, nullable: bool = False, part: Partition | None = None
) -> list[KeyRange]:
    dtype = DataType(kind, 38, 4) if kind is Kind.DECIMAL else DataType(kind)
    return key_ranges(dtype, parts, len(probe.keys), nullable, part or Partition(), options(), probe)


def holders(found: list[KeyRange], key: Any, back: Any) -> int:
    """How many ranges a key lies in."""
    return sum(
        (one.low is None or back(one.low) <= key) and (one.high is None or key < back(one.high))
        for one in found
        if not one.nulls
    )


KEYS = {
    Kind.BIGINT: (st.integers(-(2**63), 2**63 - 1), int),
    Kind.DECIMAL: (st.integers(-(10**30), 10**30).map(lambda n: Decimal(f"{n}E-4")), Decimal),
    Kind.STRING: (st.text(max_size=8), str),
    Kind.DATE: (st.dates(), date.fromisoformat),
    Kind.TIMESTAMP: (st.datetimes(), datetime.fromisoformat),
}


@pytest.mark.parametrize("kind", KEYS)
def test_every_key_lies_in_exactly_one_range(kind: Kind) -> None:
    """F-C41: the ranges are half-open, the first and the last one have no end."""
    strategy, back = KEYS[kind]

    @given(st.lists(strategy, max_size=50), st.integers(1, 20), strategy)
    def check(keys: list[Any], parts: int, other: Any) -> None:
        found = ranges(kind, Probe(keys), parts)

        assert 1 <= len(found) <= max(parts, 1)
        for key in [*keys, other]:
            assert holders(found, key, back) == 1

    check()


def test_nulls_have_a_range_of_their_own_only_where_there_can_be_some() -> None:
    probe = Probe(list(range(100)))

    assert [one.nulls for one in ranges(Kind.INT, probe, 4, nullable=True)] == [False] * 4 + [True]
    assert not any(one.nulls for one in ranges(Kind.INT, probe, 4))
    assert ranges(Kind.INT, probe, 1, nullable=True) == [KeyRange()]
    assert ranges(Kind.INT, Probe([]), 4, nullable=True) == [KeyRange()]


def test_even_keys_are_divided_by_arithmetic_and_skewed_ones_by_their_rows() -> None:
    even, skewed = Probe(list(range(1000))), Probe([*range(999), 10**12])

    ranges(Kind.BIGINT, even, 4)
    found = ranges(Kind.BIGINT, skewed, 4)

    assert even.asked == ["bounds"] and skewed.asked == ["bounds", "sampled"]
    assert [one.low for one in found] == [None, "250", "500", "750"]


def test_bounds_that_were_given_are_taken_and_bad_ones_named() -> None:
    part = Partition("k", 3, "0", "29")

    assert [one.low for one in ranges(Kind.INT, Probe([5]), 3, part=part)] == [None, "10", "20"]
    with pytest.raises(ValueError, match="'x' is not a value of type int"):
        ranges(Kind.INT, Probe([5]), 3, part=Partition("k", 3, "x", "29"))


@pytest.mark.parametrize(("low", "high", "lows"), [("0", None, [None, "10", "20"]), (None, "29", [None, "13", "21"])])
def test_one_bound_is_enough(low: str | None, high: str | None, lows: list[str | None]) -> None:
    """The other one is asked for: the table's keys lie between 5 and 29."""
    found = ranges(Kind.INT, Probe([5, 29]), 3, part=Partition("k", 3, low, high))

    assert [one.low for one in found] == lows


def test_even_bounds_never_leave_the_range() -> None:
    assert even_bounds(0, 1, 10) == [1]
    assert even_bounds(date(2020, 1, 1), date(2020, 1, 1), 5) == []
    assert even_bounds(Decimal("0.5"), Decimal("10.5"), 2) == [Decimal("5.5")]
    low = datetime(2020, 1, 1, tzinfo=UTC)
    assert even_bounds(low, low + timedelta(hours=2), 2) == [low + timedelta(hours=1)]


@pytest.mark.parametrize(
    ("rows", "size", "more", "parallelism", "parts"),
    [
        (None, None, {}, 2, 1),
        (1000, None, {}, 8, 1),
        (99_999, None, {}, 8, 1),
        (200_000, None, {}, 2, 2),
        (3_000_000, None, {}, 2, 8),
        (3_000_000, None, {}, 1, 7),
        (100_000, 2 << 30, {}, 1, 8),
        (10_000, None, {"split.size": 1000}, 1, 10),
    ],
)
def test_how_many_splits(rows: int | None, size: int | None, more: Any, parallelism: int, parts: int) -> None:
    assert parts_wanted(rows, size, options(**more), parallelism) == parts


def test_conditions_quote_their_bounds() -> None:
    def literal(text: str) -> str:
        return f"<{text}>"

    assert KeyRange("a", "b").condition("k", literal) == "k >= <a> AND k < <b>"
    assert KeyRange(None, "b").condition("k", literal) == "k < <b>"
    assert KeyRange().condition("k", literal) == ""
    assert KeyRange(nulls=True).condition("k", literal) == "k IS NULL"
    assert as_text(datetime(2020, 1, 2, 3, 4, 5, 6, tzinfo=UTC)) == "2020-01-02 03:04:05.000006+00:00"


@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.parametrize("kind", [Kind.BIGINT, Kind.STRING])
def test_limits_hold_in_every_range_and_leave_nulls_out(kind: Kind, parts: int) -> None:
    """As SeaTunnel reads a query: from the lower bound to the upper one, both included, each row once."""
    keys = list(range(10, 100))
    probe = Probe([str(key) for key in keys] if kind is Kind.STRING else keys)
    part = Partition("id", parts, "20", "30", limits=True)

    found = ranges(kind, probe, parts, nullable=True, part=part)

    assert {(one.floor, one.ceiling, one.nulls) for one in found} == {("20", "30", False)}
    assert found[0].condition("id", repr).endswith("id >= '20' AND id <= '30'")
    read = [int(key) for key in keys if "20" <= str(key) <= "30" for _ in range(holders(found, key, int))]
    assert read == list(range(20, 31))


def test_one_limit_leaves_the_other_end_open() -> None:
    [only] = ranges(Kind.INT, Probe([]), 4, nullable=True, part=Partition("id", 4, "20", limits=True))
    assert only == KeyRange(floor="20")
    with pytest.raises(ValueError, match="the partition bound 'x' is not a value of type int"):
        ranges(Kind.INT, Probe([1]), 1, part=Partition("id", 1, "x", limits=True))
