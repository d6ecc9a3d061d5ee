"""Converts one date, time or timestamp between text and whole numbers: days, or ticks of the column's unit.

Whole numbers hold every year that Arrow does. Years outside of 0 to 9999 are written as in ISO 8601: with a sign,
``+10000-01-01``; the year 0 is 1 BC, so that 44 BC is ``-0043``.
"""

from __future__ import annotations

import calendar
import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

from seatunnel_py.api import DataType, Kind
from seatunnel_py.api.types import NANOSECONDS

DAY_SECONDS = 86_400
_DATE = re.compile(
    r"([+-]\d{4,7}|\d{4,7})(?:([-/.])(\d{1,2})\2(\d{1,2})|年(\d{1,2})月(\d{1,2})日)|(\d{4})(\d{2})(\d{2})", re.ASCII
)
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?", re.ASCII)
_HOUR = re.compile(r"(\d{2})(?:(\d{2})(\d{2})?)?", re.ASCII)
_COMPACT = re.compile(r"(\d{8})(\d{2})(\d{2})(\d{2})", re.ASCII)
_ZONE = re.compile(r"(.*?)\s*(Z|[+-]\d{2}(?::?\d{2})?)", re.ASCII | re.DOTALL)


class NotAMomentError(ValueError):
    """The text is not a date or time; the message, if there is one, gives the reason."""


def per_second(dtype: DataType) -> int:
    """Ticks per second."""
    return 1_000_000_000 if dtype.unit == NANOSECONDS else 1_000_000


def ticks_of(text: str, dtype: DataType) -> int:
    """Arrow's number for the text: days of a DATE, else ticks. Raises NotAMomentError."""
    match dtype.kind:
        case Kind.DATE:
            return _bounded(days_of_text(text), 31)
        case Kind.TIME:
            return time_ticks(text, per_second(dtype))
        case Kind.TIMESTAMP:
            return _bounded(timestamp_ticks(text, per_second(dtype)), 63)
    clock, offset = _without_zone(text)
    return _bounded(timestamp_ticks(clock, per_second(dtype)) - offset * per_second(dtype), 63)


def _bounded(ticks: int, bits: int) -> int:
    if not -(1 << bits) <= ticks < 1 << bits:
        raise NotAMomentError("it lies outside of the years that the column holds")
    return ticks


def _without_zone(text: str) -> tuple[str, int]:
    """Split off the zone: the clock text, and its offset from UTC in seconds. A text without a zone is UTC."""
    match = _ZONE.fullmatch(text)
    if match is None or (":" not in text and "T" not in text and match[2] != "Z"):
        return text, 0
    zone = match[2].replace(":", "")
    if zone == "Z":
        return match[1], 0
    hours, minutes = int(zone[1:3]), int(zone[3:] or 0)
    if hours > 23 or minutes > 59:
        raise NotAMomentError("its time zone is not valid")
    seconds = hours * 3600 + minutes * 60
    return match[1], seconds if zone[0] == "+" else -seconds


def days_of_text(text: str) -> int:
    """Days since 1970. A time of day after the date must be midnight."""
    day, separator, clock = _parted(text)
    if separator and time_ticks(clock, 1_000_000, alone=False):
        raise NotAMomentError("it has a time of day")
    match = _DATE.fullmatch(day)
    if match is None:
        raise NotAMomentError
    year, month, dayname = [part for part in (match[1], *match.groups()[2:]) if part is not None]
    return days_of(int(year), int(month), int(dayname))


def days_of(year: int, month: int, day: int) -> int:
    """Days since 1970 of a day of the Gregorian calendar, in any year."""
    cycle = 400 * ((year - 1) // 400)  # the calendar repeats after 400 years of 146,097 days
    within = year - cycle
    if not (1 <= month <= 12 and 1 <= day <= calendar.monthrange(within, month)[1]):
        raise NotAMomentError
    return date(within, month, day).toordinal() - 719_163 + cycle // 400 * 146_097


def time_ticks(text: str, ticks: int, *, alone: bool = True) -> int:
    """Ticks since midnight. ``alone``: the text is the whole value, so bare digits are not a time."""
    match = _TIME.fullmatch(text) or (None if alone else _HOUR.fullmatch(text))
    if match is None:
        raise NotAMomentError
    hour, minute, second = (int(part or 0) for part in (match[1], match[2], match[3]))
    if hour > 23 or minute > 59 or second > 59:
        raise NotAMomentError
    fraction = (match[4] if match.re is _TIME else None) or ""
    return (hour * 3600 + minute * 60 + second) * ticks + fraction_ticks(fraction, ticks)


def fraction_ticks(digits: str, ticks: int) -> int:
    """Ticks of a second's fraction; all digits must fit."""
    places = len(str(ticks)) - 1
    if digits[places:].strip("0"):
        more = "; declare the column with nine digits, such as timestamp(9)" if places < 9 else ""
        raise NotAMomentError(f"it has more than {places} digits of a second{more}")
    return int(digits[:places].ljust(places, "0") or 0)


def timestamp_ticks(text: str, ticks: int) -> int:
    """Ticks since 1970 of a date and a time with ``T`` or a blank between them, or of ``20240131123456``."""
    compact = _COMPACT.fullmatch(text)
    if compact:
        day, clock = compact[1], ":".join(compact.groups()[1:])
    else:
        day, _, clock = _parted(text)
    within = time_ticks(clock, ticks, alone=False) if clock else 0
    return days_of_text(day) * DAY_SECONDS * ticks + within


def _parted(text: str) -> tuple[str, str, str]:
    return text.replace("T", " ", 1).partition(" ")


def as_python(ticks: int, dtype: DataType) -> Any:
    """The value as a Python object, or as a whole number, which Arrow takes as well, if Python has no such value."""
    try:
        match dtype.kind:
            case Kind.DATE:
                return date(1970, 1, 1) + timedelta(days=ticks)
            case _ if dtype.unit == NANOSECONDS:
                return ticks
            case Kind.TIME:
                return (datetime(1970, 1, 1) + timedelta(microseconds=ticks)).time()  # noqa: DTZ001  (a time has none)
            case Kind.TIMESTAMP:
                return datetime(1970, 1, 1) + timedelta(microseconds=ticks)  # noqa: DTZ001  (nor has a timestamp)
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=ticks)
    except OverflowError:
        return ticks


def date_words(days: int) -> str:
    """The day in ISO 8601, in any year."""
    cycles, within = divmod(days + 719_162, 146_097)  # days since the year 1
    found = date.fromordinal(within + 1)
    return f"{year_words(found.year + 400 * cycles)}-{found.month:02}-{found.day:02}"


def year_words(year: int) -> str:
    """The year in ISO 8601: with a sign if four digits cannot hold it."""
    return f"{year:04}" if 0 <= year <= 9999 else f"{year:+05}"
