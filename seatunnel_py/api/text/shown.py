"""Formats values of any column type for a terminal.

Columns may hold years outside of 1 to 9999 and nanoseconds, which Python's dates cannot. So dates, times and timestamps
are formatted from their numbers, as in ISO 8601 and Java: ``+10000-01-01``, ``-0043-03-15``.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86_400


def value_text(value: Any) -> str:
    """Format a value of ``shown_values`` for a line or a table cell."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return repr(value) if math.isfinite(value) else {"nan": "NaN", "inf": "Infinity"}.get(
                str(value), "-Infinity"
            )  # fmt: skip
        case Decimal():
            return format(value, "f")
        case list():
            return f"[{', '.join(map(literal_text, value))}]"
        case dict():
            return f"{{{', '.join(f'{name} = {literal_text(item)}' for name, item in value.items())}}}"
        case tuple():
            return f"{literal_text(value[0])} = {literal_text(value[1])}"
    return repr(value) if isinstance(value, bytes) else str(value)


def literal_text(value: Any) -> str:
    """Format a value like ``value_text``, with quotes around a text, for lists of values."""
    return repr(value) if isinstance(value, str) else value_text(value)


def shown_values(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Values of a column; dates, times, timestamps and durations as text, maps as lists of pairs."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in shown_values(chunk)]
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return shown_values(array.storage)
    if pa.types.is_dictionary(kind):
        return shown_values(array.dictionary_decode())
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return _times(array)
    if pa.types.is_struct(kind):
        names = [kind.field(at).name for at in range(kind.num_fields)]
        rows = zip(*map(shown_values, array.flatten()), strict=True) if names else [()] * len(array)
        valid = array.is_valid().to_pylist()
        return [dict(zip(names, row, strict=True)) if there else None for row, there in zip(rows, valid, strict=True)]
    if pa.types.is_map(kind):
        return [None if one.values is None else _pairs(one.values) for one in array]
    if pa.types.is_nested(kind) and not pa.types.is_union(kind):
        return [None if one.values is None else shown_values(one.values) for one in array]
    return list(array.to_pylist())


def shown_rows(data: pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows of a batch, with the values of ``shown_values``."""
    names = data.schema.names
    rows = zip(*map(shown_values, data.columns), strict=True) if names else [()] * data.num_rows
    return [dict(zip(names, row, strict=True)) for row in rows]


def _pairs(entries: Any) -> list[Any]:
    return list(zip(shown_values(entries.field(0)), shown_values(entries.field(1)), strict=True))


def _times(array: pa.Array) -> list[str | None]:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    numbers = pc.cast(array.cast(pa.int32()) if kind.bit_width == 32 else array, pa.int64()).to_pylist()
    if pa.types.is_date32(kind):
        return [None if one is None else date_text(one) for one in numbers]
    if pa.types.is_date64(kind):
        return [None if one is None else date_text(one // (_DAY * 1000)) for one in numbers]
    per = _PER_SECOND[kind.unit]
    if pa.types.is_time(kind):
        return [None if one is None else clock_text(one, per) for one in numbers]
    if pa.types.is_duration(kind):
        return [None if one is None else f"{format(Decimal(one) / per, 'f')} s" for one in numbers]
    zone = "Z" if kind.tz is not None else ""
    return [None if one is None else f"{moment_text(one, per)}{zone}" for one in numbers]


def moment_text(number: int, per_second: int) -> str:
    """Format a timestamp, given in ticks since 1970."""
    days, rest = divmod(number, _DAY * per_second)
    return f"{date_text(days)}T{clock_text(rest, per_second)}"


def clock_text(number: int, per_second: int) -> str:
    """Format a time: ``12:34`` without seconds; a fraction in groups of three digits."""
    seconds, fraction = divmod(number, per_second)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}"
    if seconds % 60 or fraction:
        text += f":{seconds % 60:02}"
    if fraction:
        digits = f"{fraction * 10**9 // per_second:09}"
        while digits.endswith("000"):
            digits = digits[:-3]
        text += f".{digits}"
    return text


def date_text(days: int) -> str:
    """Format a date, given in days since 1970, in the Gregorian calendar; the year 0 precedes the year 1."""
    shifted = days + 719_468  # days since 1 March of the year 0; cycles of 400 years start in March
    era, day_of_era = divmod(shifted, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    turned = (5 * day_of_year + 2) // 153  # months since March
    day, month = day_of_year - (153 * turned + 2) // 5 + 1, turned + 3 if turned < 10 else turned - 9
    year = year_of_era + era * 400 + (month <= 2)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"
