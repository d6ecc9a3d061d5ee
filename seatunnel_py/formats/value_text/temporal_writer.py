"""Converts columns of dates, times and timestamps to text.

Every format uses ISO 8601: as many digits of a second's fraction as needed, a sign for years with more than four digits
or before the year 0, and ``Z`` after an instant. A pattern in the job file overrides it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seatunnel_py.api import BadRowsError
from seatunnel_py.formats.value_text import moments
from seatunnel_py.formats.value_text.patterns import Pattern, PatternPart, compile_pattern, format_one

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_DAY, LAST_DAY = moments.days_of(0, 1, 1), moments.days_of(9999, 12, 31)
"""Days whose year has four digits."""

_DIRECTIVE = {"year": "%Y", "month": "%m", "day": "%d", "hour": "%H", "hour12": "%I", "minute": "%M"}
_DIRECTIVE |= {"second": "%S", "half": "%p"}
_PER_SECOND = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}


def iso_text(values: pa.Array, separator: str = " ", *, all_digits: bool = False) -> pa.Array:
    """ISO text; ``separator`` is between date and time. ``all_digits``: a fraction always has six or nine digits, so
    that texts sort as their values do."""
    import pyarrow as pa

    if pa.types.is_date(values.type):
        return _date_text(values)
    if pa.types.is_time(values.type):
        return _time_text(values, all_digits)
    return _timestamp_text(values, separator, all_digits)


def _date_text(values: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    days = pc.cast(pc.cast(values, pa.date32()), pa.int32())
    odd = _outside(days, FIRST_DAY, LAST_DAY)
    if odd is None:
        return pc.cast(values, pa.string())
    plain = pc.cast(pc.if_else(odd, pa.scalar(None, values.type), values), pa.string())
    return pc.replace_with_mask(
        plain, odd, pa.array(map(moments.date_words, days.filter(odd).to_pylist()), pa.string())
    )


def _time_text(values: pa.Array, all_digits: bool = False) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    unit = values.type.unit
    ticks = pc.cast(values, pa.int32() if pa.types.is_time32(values.type) else pa.int64())
    if _outside(ticks, 0, moments.DAY_SECONDS * _PER_SECOND[unit] - 1) is not None:
        raise BadRowsError("a time is not within one day, such as 24:00:00", "correct it before the sink")
    return _shown(values, pa.time32("s"), all_digits)


def _shown(values: pa.Array, seconds: pa.DataType, all_digits: bool) -> pa.Array:
    """Arrow's text, with as few digits of a second as needed, or all of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if all_digits:
        return pc.cast(values, pa.string())
    try:
        return pc.cast(pc.cast(values, seconds), pa.string())
    except pa.ArrowInvalid:
        return pc.ascii_rtrim(pc.ascii_rtrim(pc.cast(values, pa.string()), "0"), ".")


def _timestamp_text(values: pa.Array, separator: str, all_digits: bool) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    unit, zone = values.type.unit, "Z" if values.type.tz else ""
    per_day = moments.DAY_SECONDS * _PER_SECOND[unit]
    values = pc.cast(values, pa.timestamp(unit))
    ticks = pc.cast(values, pa.int64())
    odd = _outside(ticks, FIRST_DAY * per_day, (LAST_DAY + 1) * per_day - 1)
    plain = values if odd is None else pc.if_else(odd, pa.scalar(None, values.type), values)
    text = _shown(plain, pa.timestamp("s"), all_digits)
    if separator != " ":
        text = pc.utf8_replace_slice(text, 10, 11, separator)
    if odd is not None:
        days, within = zip(*(divmod(value, per_day) for value in ticks.filter(odd).to_pylist()), strict=True)
        clocks = _time_text(pa.array(within, pa.int64()).cast(pa.time64(unit if unit == "ns" else "us")), all_digits)
        words = pa.array(map(moments.date_words, days), pa.string())
        text = pc.replace_with_mask(text, odd, pc.binary_join_element_wise(words, clocks, separator))
    return pc.binary_join_element_wise(text, zone, "") if zone else text


def _outside(numbers: pa.Array, low: int, high: int) -> Any:
    """Mask of numbers outside of the bounds; None if there are none."""
    import pyarrow.compute as pc

    range_ = pc.min_max(numbers).as_py()
    if range_["min"] is None or low <= range_["min"] <= range_["max"] <= high:
        return None
    return pc.fill_null(pc.or_(pc.less(numbers, low), pc.greater(numbers, high)), False)


# ---------------------------------------------------------------- patterns


def format_column(values: pa.Array, pattern: str) -> pa.Array:
    """Format dates, times or timestamps by a pattern of the job file; an instant by its clock in UTC."""
    import pyarrow as pa
    import pyarrow.compute as pc

    compiled = compile_pattern(pattern)
    if pa.types.is_time(values.type):
        unit = values.type.unit
        _time_text(values)  # refuses values outside of a day
        values = pc.cast(pc.cast(pc.cast(values, pa.time64("ns" if unit == "ns" else "us")), pa.int64()), _stamp(unit))
    else:
        _refuse_odd_years(values, compiled)
        values = pc.cast(values, _stamp(getattr(values.type, "unit", "us")))
    if any(not _fixed(token) for token in compiled.tokens):
        return pa.array(_one_by_one(values, compiled), pa.string())
    return _strftime(values, pc.cast(pc.floor_temporal(values, unit="second"), pa.timestamp("s")), compiled)


def _stamp(unit: str) -> pa.DataType:
    import pyarrow as pa

    return pa.timestamp("ns" if unit == "ns" else "us")


def _one_by_one(values: pa.Array, pattern: Pattern) -> list[str | None]:
    """Format with patterns whose fields have variable width."""
    import pyarrow as pa
    import pyarrow.compute as pc

    micros = pc.cast(pc.floor_temporal(values, unit="microsecond"), pa.timestamp("us"))
    nanos = pc.nanosecond(values).to_pylist()
    moments_ = zip(micros.to_pylist(), nanos, strict=True)
    return [None if value is None else format_one(value, pattern, nano or 0) for value, nano in moments_]


def _refuse_odd_years(values: pa.Array, pattern: Pattern) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    if "year" not in pattern.parts or not len(values):
        return
    days = pc.cast(values, pa.date32()) if not pa.types.is_date32(values.type) else values
    odd = _outside(pc.cast(days, pa.int32()), moments.days_of(1, 1, 1), LAST_DAY)
    if odd is not None:
        first = moments.date_words(pc.cast(days, pa.int32()).filter(odd)[0].as_py())
        raise BadRowsError(
            f"the pattern {pattern.text!r} has no form for the year of {first}",
            "leave the pattern out: dates are then written in ISO 8601",
        )


def _fixed(token: PatternPart) -> bool:
    return not token.part or token.width == 2 or token.part in ("year", "fraction", "half")


def _strftime(values: pa.Array, seconds: pa.Array, pattern: Pattern) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    pieces: list[Any] = []
    directives = ""
    for token in pattern.tokens:
        if token.part == "fraction":
            pieces.append(pc.strftime(seconds, directives) if directives else "")
            micros = pc.add(pc.multiply(pc.millisecond(values), 1000), pc.microsecond(values))
            nanos = pc.cast(pc.add(pc.multiply(micros, 1000), pc.nanosecond(values)), pa.string())
            pieces.append(
                pc.utf8_slice_codeunits(pc.utf8_rpad(pc.utf8_lpad(nanos, 9, "0"), token.width, "0"), 0, token.width)
            )
            directives = ""
        elif token.part == "year" and token.width == 2:
            directives += "%y"
        else:
            directives += _DIRECTIVE[token.part] if token.part else token.text.replace("%", "%%")
    if directives:
        pieces.append(pc.strftime(seconds, directives))
    return pieces[0] if len(pieces) == 1 else pc.binary_join_element_wise(*pieces, "")
