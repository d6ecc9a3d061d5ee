"""Handles dates, times and timestamps for databases with a smaller range than Arrow's."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

DAY = {"us": 86_400_000_000, "ns": 86_400_000_000_000}
END_OF_DAY = "24:00:00"
_FIRST_DAY, _LAST_DAY = -719528, 2932896  # 0000-01-01 to 9999-12-31


def time_text(array: pa.Array) -> pa.Array:
    """Times as ISO text. The end of the day (24:00) is a time in PostgreSQL and MySQL, but Arrow's own text lacks
    it."""
    at_end = pc.equal(array.cast(pa.int64()), DAY[array.type.unit])
    if not pc.any(at_end).as_py():
        return array.cast(pa.string())
    others = pc.if_else(at_end, pa.scalar(None, array.type), array).cast(pa.string())
    return pc.if_else(at_end, END_OF_DAY, others)


def in_years(array: pa.Array) -> pa.Array:
    """Mask of dates or timestamps within the years 0 to 9999, which have four digits."""
    days = pa.types.is_date32(array.type)
    ticks = array.cast(pa.int32() if days else pa.int64())
    unit = 1 if days else DAY[array.type.unit]
    low, high = _FIRST_DAY * unit, (_LAST_DAY + 1) * unit
    if not days and array.type.unit == "ns":
        return pc.equal(ticks, ticks)  # 64-bit nanoseconds cover the years 1677 to 2262 only
    return pc.and_(pc.greater_equal(ticks, low), pc.less(ticks, high))


def shown(value: pa.Scalar) -> str:
    """A value for a message; a timestamp outside of Python's years as its number."""
    try:
        return str(value.as_py())[:80]
    except (ValueError, OverflowError):
        return str(value.cast(pa.int64() if value.type.bit_width == 64 else pa.int32()).as_py())
