"""Converts the server's texts of dates, times and timestamps under ``DateStyle = ISO`` and ``TimeZone = UTC``.

Arrow reads the years 1 to 9999. Others, and those before Christ, are parsed one by one; what is infinite or beyond
Arrow's range is refused.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from seatunnel_py.api import DataType, Kind, ValueMisfitError, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

_DAY_SECONDS = 86_400
_CLOCK = r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?"
_DATE = re.compile(r"(\d{4,7})-(\d\d)-(\d\d)( BC)?", re.ASCII)
_TIMESTAMP = re.compile(rf"(\d{{4,7}})-(\d\d)-(\d\d) {_CLOCK}(\+00)?( BC)?", re.ASCII)
_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAYS_TO_1970 = 719_468  # from 1 March of the year 0


@lru_cache(maxsize=256)
def arrow_type(dtype: DataType) -> pa.DataType:
    """Cache ``to_arrow``, which is asked for every column of every batch."""
    return to_arrow(dtype)


def to_moments(texts: pa.Array, dtype: DataType) -> pa.Array:
    """The column as DATE, TIME, TIMESTAMP or TIMESTAMP_TZ."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = arrow_type(dtype)
    if dtype.kind is Kind.TIME:
        return _times(texts, wanted)
    try:
        return texts.cast(wanted)
    except pa.ArrowInvalid:
        found = [None if one is None else _one(row, one, dtype) for row, one in enumerate(_shown(texts))]
        return pc.cast(pa.array(found, pa.int32() if dtype.kind is Kind.DATE else pa.int64()), wanted)


def _times(texts: pa.Array, wanted: pa.DataType) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    days = pc.binary_join_element_wise(pa.scalar("1970-01-01 "), texts, pa.scalar(""))
    try:
        return pc.cast(pc.cast(days, pa.timestamp("us")), pa.int64()).cast(wanted)
    except pa.ArrowInvalid:
        for row, text in enumerate(_shown(texts)):
            if text is not None and not re.fullmatch(rf"(?:[01]\d|2[0-3])(?:{_CLOCK[6:]})", text):
                why = "24:00:00 has no counterpart" if text.startswith("24:00:00") else "it is no time of day"
                raise ValueMisfitError(row, f"{text[:80]!r}: {why}") from None
        raise


def _shown(texts: pa.Array) -> list[str | None]:
    import pyarrow as pa

    return [None if one is None else one.decode(errors="replace") for one in texts.cast(pa.binary()).to_pylist()]


def _one(row: int, text: str, dtype: DataType) -> int:
    if text in ("infinity", "-infinity"):
        what = "date" if dtype.kind is Kind.DATE else "timestamp"
        raise ValueMisfitError(row, f"{text!r}: an infinite {what} has no counterpart")
    match = (_DATE if dtype.kind is Kind.DATE else _TIMESTAMP).fullmatch(text)
    if match is None:
        raise ValueMisfitError(row, f"{text[:80]!r} is not a {dtype.kind.value}")
    before_christ = match.groups()[-1] is not None
    days = _days(1 - int(match[1]) if before_christ else int(match[1]), int(match[2]), int(match[3]))
    if days is None:
        raise ValueMisfitError(row, f"{text[:80]!r}: there is no such day")
    if dtype.kind is Kind.DATE:
        return days
    if (match[8] is not None) != (dtype.kind is Kind.TIMESTAMP_TZ):
        raise ValueMisfitError(row, f"{text[:80]!r} is not a {dtype.kind.value}")
    hours, minutes, seconds = int(match[4]), int(match[5]), int(match[6])
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueMisfitError(row, f"{text[:80]!r}: there is no such time of day")
    clock = hours * 3600 + minutes * 60 + seconds
    ticks = (days * _DAY_SECONDS + clock) * 1_000_000 + int((match[7] or "").ljust(6, "0"))
    if not -(2**63) <= ticks < 2**63:
        raise ValueMisfitError(row, f"{text[:80]!r}: a timestamp after the year 294246 has no counterpart")
    return ticks


def _days(year: int, month: int, day: int) -> int | None:
    """Days since 1970 in the proleptic Gregorian calendar; None: there is no such day."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= month <= 12 or not 1 <= day <= _MONTHS[month - 1] + (leap and month == 2):
        return None
    shifted = year - (month <= 2)  # years that begin in March end with the leap day
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return shifted * 365 + shifted // 4 - shifted // 100 + shifted // 400 + of_year - _DAYS_TO_1970
