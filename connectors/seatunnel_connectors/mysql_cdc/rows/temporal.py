"""Builds columns of dates, times, datetimes and timestamps, in the packed forms since MySQL 5.6 and in those before.

Dates with a zero in them, days that do not exist and times beyond a day have no counterpart in Arrow: they are misfits,
named as the server shows them. Dates with a zero may be null instead, as the Java driver has it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from seatunnel_connectors.jdbc.mysql.read.cells import Flags, Ints, RowCells, from_numbers
from seatunnel_connectors.mysql_cdc.log.column_types import BinlogType, ColumnStorage
from seatunnel_connectors.mysql_cdc.rows.built import Build, Built, misfits_of, there, without

_YEARS = 10_000
_MICROSECONDS = 1_000_000
_DAY = 86_400 * _MICROSECONDS
_SCALES = (_MICROSECONDS, 10_000, 100, 1)
"""Microseconds of the lowest unit of a fraction of 0 to 3 bytes."""
_CONVERT_TO_NULL = "which has no counterpart; use zeroDateTimeBehavior=convertToNull in the url"
_BEYOND_A_DAY = "which has no counterpart; read the column as a text"


@cache
def _calendar() -> tuple[Ints, Ints]:
    """For year * 13 + month: the days from 1970 to the day before the month, and the days of the month (0: none)."""
    months = np.arange(_YEARS * 12)
    firsts = (np.datetime64("0000-01", "M") + months).astype("datetime64[D]").astype(np.int64)
    lengths = np.diff(np.append(firsts, np.datetime64("10000-01-01", "D").astype(np.int64)))
    places = months // 12 * 13 + months % 12 + 1
    size = 1 << 17
    days, sizes = np.zeros(size, np.int64), np.zeros(size, np.int64)
    days[places], sizes[places] = firsts - 1, lengths
    return days, sizes


def dates(*, zero_is_null: bool) -> Build:
    """Three bytes, the lowest first: day, month, year."""

    def build(cells: RowCells) -> Built:
        words = cells.little_endian(3).astype(np.int64)
        year, month, day = words >> 9, words >> 5 & 15, words & 31
        days, bad = _days(year * 13 + month, day, month)

        def text(row: int) -> str:
            return f"{year[row]:04}-{month[row]:02}-{day[row]:02}"

        return _finished(cells, days.astype(np.int32), bad, pa.date32(), text, _zero(year, month, day, zero_is_null))

    return build


def _days(place: Ints, day: Ints, month: Ints) -> tuple[Ints, Flags]:
    firsts, sizes = _calendar()
    # The last entry is a month that does not exist: damaged dates, and the bytes of cells that are null.
    place = np.minimum(place, len(sizes) - 1)
    bad = (day == 0) | (day > sizes[place]) | (month > 12)
    return firsts[place] + day, bad


def _zero(year: Ints, month: Ints, day: Ints, zero_is_null: bool) -> Flags | None:
    """The values that are null instead of misfits."""
    return (month == 0) | (day == 0) if zero_is_null else None


def _finished(
    cells: RowCells, values: Any, bad: Flags, kind: pa.DataType, text: Callable[[int], str], null: Flags | None
) -> Built:
    bad = there(cells, bad)
    if not bad.any():
        return Built(from_numbers(kind, values, cells.valid))
    array = from_numbers(kind, values, without(cells.valid, bad))
    misfits = bad if null is None else bad & ~null
    remedy = _BEYOND_A_DAY if pa.types.is_time(kind) else _CONVERT_TO_NULL
    return Built(array, misfits_of(misfits, lambda row: f"{text(row)}, {remedy}"))


def datetimes(storage: ColumnStorage, *, zero_is_null: bool) -> Build:
    """Forty bits: a sign, year * 13 + month, day, hour, minute, second; then the fraction."""
    size = storage.width - 5 if storage.type is BinlogType.DATETIME2 else 0

    def build(cells: RowCells) -> Built:
        if storage.type is BinlogType.DATETIME:
            place, day, month, seconds, bad_time, fraction = _decimal_datetime(cells)
        else:
            words = cells.big_endian(5).astype(np.int64)
            place, day = words >> 22 & 0x1FFFF, words >> 17 & 31
            month = place % 13
            seconds, bad_time = _clock(words >> 12 & 31, words >> 6 & 63, words & 63)
            fraction = _fraction(cells, 5, size)
        days, bad = _days(place, day, month)
        micros = days * _DAY + seconds * _MICROSECONDS + fraction

        def text(row: int) -> str:
            clock = int(seconds[row])
            shown = f"{place[row] // 13:04}-{month[row]:02}-{day[row]:02} {_clock_text(clock)}"
            return shown + _fraction_text(int(fraction[row]), storage.first)

        null = _zero(place // 13, month, day, zero_is_null)
        return _finished(cells, micros, bad | bad_time, pa.timestamp("us"), text, null)

    return build


def _decimal_datetime(cells: RowCells) -> tuple[Ints, Ints, Ints, Ints, Flags, Ints]:
    """The digits yyyymmddhhmmss as one number of eight bytes."""
    words = cells.block.words("<i8", cells.starts)
    date, time = words // 1_000_000, words % 1_000_000
    seconds, bad = _clock(time // 10_000, time // 100 % 100, time % 100)
    year, month, day = date // 10_000, date // 100 % 100, date % 100
    bad |= (year < 0) | (year >= _YEARS) | (month > 12)
    place = np.where(bad, 0, year * 13 + month)
    return place, day, month, seconds, bad, np.zeros(cells.count, np.int64)


def _clock(hour: Ints, minute: Ints, second: Ints) -> tuple[Ints, Flags]:
    return hour * 3600 + minute * 60 + second, (hour > 23) | (minute > 59) | (second > 59)


def _fraction(cells: RowCells, offset: int, size: int) -> Ints:
    """Microseconds."""
    if not size:
        return np.zeros(cells.count, np.int64)
    return cells.big_endian(size, offset).astype(np.int64) * _SCALES[size]


def timestamps(storage: ColumnStorage, *, zero_is_null: bool) -> Build:
    """Seconds since 1970 in UTC, then the fraction. Zero, with no fraction, is the zero date."""
    old = storage.type is BinlogType.TIMESTAMP
    size = 0 if old else storage.width - 4

    def build(cells: RowCells) -> Built:
        words = cells.little_endian(4) if old else cells.big_endian(4)
        micros = words.astype(np.int64) * _MICROSECONDS + _fraction(cells, 4, size)
        bad = micros == 0
        null = bad if zero_is_null else None
        return _finished(cells, micros, bad, pa.timestamp("us", "UTC"), lambda _: "0000-00-00 00:00:00", null)

    return build


def times(storage: ColumnStorage) -> Build:
    """Hours, minutes, seconds and a fraction as one number around an offset: negative times borrow from it."""
    size = storage.width - 3 if storage.type is BinlogType.TIME2 else 0

    def build(cells: RowCells) -> Built:
        if storage.type is BinlogType.TIME:
            digits = (cells.little_endian(3).astype(np.int64) ^ 0x800000) - 0x800000
            negative, digits = digits < 0, np.abs(digits)
            hour, minute, second = digits // 10_000, digits // 100 % 100, digits % 100
            fraction = np.zeros(cells.count, np.int64)
        else:
            words = cells.big_endian(3 + size).astype(np.int64) - (0x800000 << 8 * size)
            negative, words = words < 0, np.abs(words)
            fraction = (words & (1 << 8 * size) - 1) * _SCALES[size] if size else np.zeros(cells.count, np.int64)
            whole = words >> 8 * size
            hour, minute, second = whole >> 12 & 1023, whole >> 6 & 63, whole & 63
        seconds, bad = _clock(hour, minute, second)
        micros = seconds * _MICROSECONDS + fraction

        def text(row: int) -> str:
            sign = "-" if negative[row] else ""
            shown = f"{hour[row]:02}:{minute[row]:02}:{second[row]:02}"
            return sign + shown + _fraction_text(int(fraction[row]), storage.first)

        return _finished(cells, micros, bad | (negative & (micros > 0)), pa.time64("us"), text, None)

    return build


def _clock_text(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _fraction_text(micros: int, digits: int) -> str:
    return f".{micros:06}"[: digits + 1] if digits else ""
