"""Divides a table: key ranges with open ends and a split for nulls. Pure, except for the queries of a probe.

A range is half open, ``low <= key < high``; the first has no low end and the last no high end, so that a row is in
exactly one range whatever was written since the bounds were taken. Bounds travel as text, which every database
takes as a literal of the key's own type.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Protocol

from seatunnel_connectors.jdbc.options import ROWS_PER_UNIT, JdbcSourceOptions
from seatunnel_connectors.jdbc.source.table_request import Partition
from seatunnel_py.api import DataType, Kind, Plain

ROWS_PER_SPLIT = ROWS_PER_UNIT * 9 // 10  # below a unit's budget by the usual error of estimates
BYTES_PER_SPLIT = 256 << 20  # wide rows: a split should stay a second or two of work
ROWS_WORTH_DIVIDING = 100_000  # fewer rows are read before a second reader has started
SPLITS_MAX = 10_000  # a longer list costs more memory and planning than it saves

NUMBERS = frozenset({Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT})
DIVISIBLE = NUMBERS | {Kind.DECIMAL, Kind.STRING, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_TZ}
"""Kinds of columns that ranges can be made of."""


@dataclass(frozen=True, slots=True)
class KeyRange:
    """``low <= key < high``, either end open when None; ``nulls`` selects the rows without a key instead.

    ``floor <= key <= ceiling`` are the user's limits for the whole table, and hold in each of its ranges."""

    low: str | None = None
    high: str | None = None
    nulls: bool = False
    floor: str | None = None
    ceiling: str | None = None

    def condition(self, column: str, literal: Any) -> str:
        """The SQL condition; ``literal`` quotes a text, ``column`` is already quoted."""
        if self.nulls:
            return f"{column} IS NULL"
        ends = ((">=", self.low), ("<", self.high), (">=", self.floor), ("<=", self.ceiling))
        return " AND ".join(f"{column} {sign} {literal(text)}" for sign, text in ends if text is not None)


class Probe(Protocol):
    """Queries about one table's key column, for planning splits."""

    def bounds(self) -> tuple[Any, Any]:
        """Smallest and largest value, both None for a table without any."""

    def quantiles(self, parts: int, *, exact: bool) -> list[Any]:
        """Up to ``parts - 1`` ascending values that divide the rows about evenly."""


def parts_wanted(rows: int | None, size: int | None, options: JdbcSourceOptions, parallelism: int) -> int:
    """Number of splits for a table; 1 needs no further query."""
    if not rows:
        return 1
    if options.split_size:
        return min(math.ceil(rows / options.split_size), SPLITS_MAX)
    by_budget = math.ceil(rows / ROWS_PER_SPLIT)
    by_bytes = math.ceil(size / BYTES_PER_SPLIT) if size else 1
    for_readers = min(parallelism, rows // ROWS_WORTH_DIVIDING)
    parts = max(by_budget, by_bytes, for_readers, 1)
    if parts > 1:
        parts = math.ceil(parts / parallelism) * parallelism  # the last round keeps every reader busy
    return min(parts, SPLITS_MAX)


def key_ranges(
    dtype: DataType,
    parts: int,
    rows: int | None,
    nullable: bool,
    partition: Partition,
    options: JdbcSourceOptions,
    probe: Probe,
) -> list[KeyRange]:
    """The ranges of a table: at least one, which then has both ends open."""
    given = [None if text is None else _read(dtype, text) for text in (partition.lower, partition.upper)]
    floor, ceiling = (None if value is None or not partition.limits else as_text(value) for value in given)
    whole = KeyRange(floor=floor, ceiling=ceiling)  # without limits no condition at all, so that nulls are read as well
    if parts <= 1:
        return [whole]
    found = probe.bounds() if None in given else given
    low, high = (one if value is None else value for value, one in zip(given, found, strict=True))
    if low is None or high is None:
        return [whole]
    inner = _inner_bounds(dtype, low, high, parts, rows, partition, options, probe)
    edges = [None, *dict.fromkeys(as_text(value) for value in inner), None]
    ranges = [replace(whole, low=edges[at], high=edges[at + 1]) for at in range(len(edges) - 1)]
    if nullable and len(ranges) > 1 and not partition.limits:
        ranges.append(KeyRange(nulls=True))
    return ranges


def _inner_bounds(
    dtype: DataType, low: Any, high: Any, parts: int, rows: int | None, partition: Partition,
    options: JdbcSourceOptions, probe: Probe,
) -> Sequence[Any]:  # fmt: skip
    if dtype.kind in DIVISIBLE - {Kind.STRING}:
        asked_for = partition.number is not None or partition.lower is not None or partition.upper is not None
        if asked_for or is_even(low, high, rows, options):
            return even_bounds(low, high, parts)
    sampled = options.allow_sampling and parts >= 2
    return probe.quantiles(parts, exact=not sampled)


def is_even(low: Any, high: Any, rows: int | None, options: JdbcSourceOptions) -> bool:
    """True if the keys fill their range evenly enough to divide the range instead of the rows (SeaTunnel's factor)."""
    if not rows or not isinstance(low, int):
        return False
    factor = (int(high) - low + 1) / rows
    return options.even_lower <= factor <= min(options.even_upper, EVEN_FACTOR_MAX)


EVEN_FACTOR_MAX = 2.0  # wider gaps could leave whole splits empty; quantiles are one cheap query


def even_bounds(low: Any, high: Any, parts: int) -> list[Any]:
    """``parts - 1`` values that cut low..high (inclusive) into equal ranges; fewer if there are fewer values."""
    if isinstance(low, datetime):
        step: Any = (high - low) / parts
        return sorted({low + step * at for at in range(1, parts)} - {low})
    if isinstance(low, date):
        days = (high - low).days + 1
        return [low + timedelta(days=at) for at in _cuts(days, parts)]
    if isinstance(low, Decimal) or isinstance(high, Decimal):
        whole = int(Decimal(high) - Decimal(low)) + 1
        return [Decimal(low) + at for at in _cuts(whole, parts)]
    return [low + at for at in _cuts(high - low + 1, parts)]


def _cuts(width: int, parts: int) -> list[int]:
    return sorted({width * at // parts for at in range(1, parts)} - {0})


def _read(dtype: DataType, text: str) -> Any:
    """Parse a bound from a job file. Raises ValueError that names the unusable text."""
    try:
        match dtype.kind:
            case kind if kind in NUMBERS:
                return int(text)
            case Kind.DECIMAL:
                return Decimal(text)
            case Kind.DATE:
                return date.fromisoformat(text)
            case Kind.TIMESTAMP | Kind.TIMESTAMP_TZ:
                return datetime.fromisoformat(text)
            case _:
                return text
    except (ValueError, ArithmeticError):
        raise ValueError(f"the partition bound {text!r} is not a value of type {dtype}") from None


def as_text(value: Any) -> str:
    """A key value as plain text, which every database reads as the same value."""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return str(value)


def as_plain(value: Any) -> Plain:
    """A key value as stored in a position."""
    return value if isinstance(value, int | str) else as_text(value)
