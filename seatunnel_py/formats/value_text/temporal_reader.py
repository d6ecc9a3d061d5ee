"""Converts columns of text to dates, times and timestamps.

Without a pattern Arrow first tries the whole column as ISO text. If that fails, each value is parsed alone, to accept
other spellings and to name the value in the error.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from seatunnel_py.api import DataType, Kind, to_arrow
from seatunnel_py.formats.value_text import moments
from seatunnel_py.formats.value_text.patterns import Pattern, compile_pattern
from seatunnel_py.formats.value_text.rules import MisfitError, not_a

if TYPE_CHECKING:
    import pyarrow as pa

_SHORTEST_TIME = 5  # `12:34`: Arrow accepts an hour alone, which is not a time
_ZONED = "(Z|[+-][0-9:]{4,6})$"


def parse_column(texts: pa.StringArray, dtype: DataType, pattern: str | None) -> pa.Array:
    """Parse a column; nulls stay. Raises MisfitError for the first misfit."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pattern is None:
        try:
            return _cast_iso(texts, dtype)
        except pa.ArrowInvalid:
            return _each(texts, dtype, lambda text: moments.ticks_of(text, dtype))
    compiled = compile_pattern(pattern)
    if compiled.iso:
        whole = f"^{compiled.regex}$"
        fits = pc.match_substring_regex(texts, whole)
        if pc.index(fits, pa.scalar(False)).as_py() < 0:
            iso = pc.replace_substring_regex(texts, whole, compiled.iso)
            try:
                return _cast_iso(iso, dtype) if dtype.kind is not Kind.TIME else _time_of_day(iso, dtype)
            except pa.ArrowInvalid:
                pass  # a day that no month has: the loop below finds it, for the message
    return _each(texts, dtype, lambda text: _by_pattern(text, compiled, dtype), f" of the form {pattern!r}")


def _cast_iso(texts: pa.Array, dtype: DataType) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    arrow = to_arrow(dtype)
    if dtype.kind is Kind.DATE:
        try:
            return pc.cast(texts, arrow)
        except pa.ArrowInvalid:
            days = pc.cast(texts, pa.timestamp("us"))
            found = pc.cast(days, arrow)
            if pc.all(pc.equal(pc.cast(found, pa.timestamp("us")), days)).as_py() is False:
                raise pa.ArrowInvalid("a time of day") from None
            return found
    if dtype.kind is Kind.TIME:
        if (pc.min(pc.binary_length(texts)).as_py() or _SHORTEST_TIME) < _SHORTEST_TIME:
            raise pa.ArrowInvalid("an hour alone")
        return _time_of_day(pc.binary_join_element_wise("1970-01-01T", texts, ""), dtype)
    if arrow.tz and not pc.any(pc.match_substring_regex(texts, _ZONED)).as_py():
        return pc.cast(texts, pa.timestamp(arrow.unit)).cast(arrow)
    return pc.cast(texts, arrow)


def _time_of_day(texts: pa.Array, dtype: DataType) -> pa.Array:
    """Convert timestamps to times; all must be on 1 January 1970."""
    import pyarrow as pa
    import pyarrow.compute as pc

    arrow = to_arrow(dtype)
    ticks = pc.cast(pc.cast(texts, pa.timestamp(arrow.unit)), pa.int64())
    range_ = pc.min_max(ticks).as_py()
    if range_["min"] is not None and not 0 <= range_["min"] <= range_["max"] < day_ticks(dtype):
        raise pa.ArrowInvalid("another day")
    return pc.cast(ticks, arrow)


def day_ticks(dtype: DataType) -> int:
    return moments.DAY_SECONDS * moments.per_second(dtype)


def _each(texts: pa.Array, dtype: DataType, parse: Callable[[str], int], like: str = "") -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    values: list[int | None] = []
    for index, text in enumerate(texts.to_pylist()):
        try:
            values.append(None if text is None else parse(text.strip()))
        except ValueError as error:
            why = f": {error}" if str(error) and isinstance(error, moments.NotAMomentError) else ""
            raise MisfitError(index, not_a(text, dtype, like + why)) from None
    return pc.cast(pa.array(values, pa.int32() if dtype.kind is Kind.DATE else pa.int64()), to_arrow(dtype))


def _by_pattern(text: str, pattern: Pattern, dtype: DataType) -> int:
    """Parse a text by the pattern, as a whole number."""
    match = re.fullmatch(pattern.regex, text, re.ASCII)
    if match is None:
        raise moments.NotAMomentError
    found = dict(zip(pattern.parts, match.groups(), strict=True))
    year = int(found.get("year", "1970"))
    year += 2000 if len(found.get("year", "1970")) == 2 else 0
    hour = int(found.get("hour", 0))
    if "hour12" in found:
        hour = int(found["hour12"]) % 12 + (12 if found.get("half", "AM").upper() == "PM" else 0)
    clock = f"{hour:02}:{int(found.get('minute', 0)):02}:{int(found.get('second', 0)):02}.{found.get('fraction', '0')}"
    if dtype.kind is Kind.TIME:
        if {"year", "month", "day"} & set(found):
            days = moments.days_of(year, int(found.get("month", 1)), int(found.get("day", 1)))
            if days:
                raise moments.NotAMomentError("it has a day")
        return moments.ticks_of(clock, dtype)
    day = f"{year:04}-{int(found.get('month', 1)):02}-{int(found.get('day', 1)):02}"
    return moments.ticks_of(f"{day} {clock}", dtype)
