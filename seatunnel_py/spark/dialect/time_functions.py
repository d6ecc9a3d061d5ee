"""Translates functions on dates and times, with SeaTunnel's meaning, to Spark SQL. An unnamed zone is UTC."""

from __future__ import annotations

import re
from collections.abc import Mapping

from seatunnel_py.spark.dialect.call import Call, Translation, renamed
from seatunnel_py.spark.dialect.date_patterns import pattern
from seatunnel_py.spark.query.types import text

_DATE_UNITS = frozenset({"YEAR", "MONTH", "WEEK", "DAY"})
_TIME_UNITS = frozenset({"HOUR", "MINUTE", "SECOND", "MILLISECOND"})
_ADD_UNITS = _DATE_UNITS | _TIME_UNITS
_DIFF_UNITS = _ADD_UNITS | {"DAYTIME"}
_TRUNC_UNITS = frozenset({"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND"})
_SOME_DAY = "DATE'2000-01-01'"  # adds a day to a time so that it can be shifted; the day is dropped again
_DEFAULT_FORMAT = "yyyy-MM-dd HH:mm:ss"

# Fields of EXTRACT, from an expression {0}; all INT but EPOCH, whose numbers need a BIGINT.
EXTRACT_FIELDS: Mapping[str, str] = {
    "YEAR": "year({0})",
    "QUARTER": "quarter({0})",
    "MONTH": "month({0})",
    "WEEK": "weekofyear({0})",
    "DAY": "day({0})",
    "DOW": "(dayofweek({0}) - 1)",
    "DAYOFWEEK": "(dayofweek({0}) - 1)",
    "ISODOW": "(weekday({0}) + 1)",
    "DOY": "dayofyear({0})",
    "DAYOFYEAR": "dayofyear({0})",
    "HOUR": "hour({0})",
    "MINUTE": "minute({0})",
    "SECOND": "second({0})",
    "MILLISECOND": "CAST(extract(SECOND FROM {0}) % 1 * 1000 AS INT)",
    "MILLISECONDS": "CAST(extract(SECOND FROM {0}) % 1 * 1000 AS INT)",
    "MICROSECOND": "CAST(extract(SECOND FROM {0}) % 1 * 1000000 AS INT)",
    "MICROSECONDS": "CAST(extract(SECOND FROM {0}) % 1 * 1000000 AS INT)",
    "EPOCH": "unix_seconds(CAST({0} AS TIMESTAMP_LTZ))",
    "ISOYEAR": "extract(YEAROFWEEK FROM {0})",
    "DECADE": "CAST(year({0}) DIV 10 AS INT)",
    "CENTURY": "CAST(ceil(year({0}) / 100) AS INT)",
    "MILLENNIUM": "CAST(ceil(year({0}) / 1000) AS INT)",
}

FIELDS_OF_TIMES = frozenset(("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MILLISECONDS", "MICROSECOND", "MICROSECONDS"))
"""Refuse fields that a time without a day lacks. Spark would use today's day, and return another value tomorrow."""


def _add(call: Call) -> str:
    """Dates ignore parts of a day, times ignore days; the type stays."""
    call.takes(2, 3)
    unit = call.word(2, "DAY", _ADD_UNITS)
    value, count, dtype = call[0].sql, call[1], call[0].type
    if dtype == "date":
        days = str(count) if count.type in ("", "int") else f"CAST({count.sql} AS INT)"
        return {
            "YEAR": f"add_months({value}, {days} * 12)",
            "MONTH": f"add_months({value}, {days})",
            "WEEK": f"date_add({value}, {days} * 7)",
            "DAY": f"date_add({value}, {days})",
        }.get(unit, value)
    if dtype.startswith("time("):
        if unit in _DATE_UNITS:
            return value
        moved = f"timestampadd({unit}, {count.sql}, make_timestamp_ntz({_SOME_DAY}, {value}))"
        return f"CAST({moved} AS TIME(6))"
    return f"timestampadd({unit}, {count.sql}, {value})"


def _diff(call: Call) -> str:
    """The second minus the first; YEAR, MONTH and DAY count by date alone, and only full periods count."""
    call.takes(2, 3)
    unit = call.word(2, "DAY", _DIFF_UNITS)
    a, b = call[0].sql, call[1].sql
    if call[0].type.startswith("time("):
        return f"time_diff('{unit}', {a}, {b})"
    match unit:
        case "YEAR" | "MONTH":
            return f"timestampdiff({unit}, CAST({a} AS DATE), CAST({b} AS DATE))"
        case "DAY":
            return f"CAST(datediff({b}, {a}) AS BIGINT)"
        case "DAYTIME":
            return f"timestampdiff(DAY, {a}, {b})"
        case _:
            return f"timestampdiff({unit}, {a}, {b})"


def _trunc(call: Call) -> str:
    """The value comes first. Spark's order, with the unit as a text first, is accepted as well."""
    call.takes(1, 2)
    value, unit = call[0].sql, "DAY"
    if len(call) == 2 and call[0].text is not None and call[1].text is None:
        value, unit = call[1].sql, call.word(0, "DAY", _TRUNC_UNITS)
    else:
        unit = call.word(1, "DAY", _TRUNC_UNITS)
    return f"CAST(date_trunc('{unit}', {value}) AS TIMESTAMP_NTZ)"


def _format(call: Call) -> str:
    call.takes(2)
    return f"date_format({call[0].sql}, {pattern(call, 1)})"


def _named(form: str) -> Translation:
    def translate(call: Call) -> str:
        call.takes(1)
        return f"date_format({call[0].sql}, '{form}')"

    return translate


def _day_of_week(call: Call) -> str:
    call.takes(1)
    return f"(weekday({call[0].sql}) + 1)"


def _week(call: Call) -> str:
    """Weeks start on Sunday, and the first one holds the first of January: SeaTunnel's own tests expect this.
    EXTRACT(WEEK FROM d) is the ISO week."""
    call.takes(1)
    x = call[0].sql
    return f"CAST((dayofyear({x}) + dayofweek(trunc({x}, 'YEAR')) - 2) DIV 7 + 1 AS INT)"


def _pattern_kind(call: Call, index: int) -> str:
    """Kind of value that a pattern describes: ``timestamp``, ``date`` or ``time``."""
    given = call[index].text
    if given is None:
        raise call.error("wants its pattern as a text, for the type of the result depends on it")
    letters = set(re.sub(r"'[^']*'", "", given))
    has_date, has_time = bool(letters & set("yuMLdDQq")), bool(letters & set("HhKkmsSa"))
    if not has_date and not has_time:
        raise call.error(f"the pattern {given!r} names neither a date nor a time")
    return "timestamp" if has_date and has_time else "date" if has_date else "time"


def _parse(call: Call) -> str:
    if len(call) == 1:
        return f"to_date({call[0].sql})"
    call.takes(2)
    function = {"timestamp": "to_timestamp_ntz", "date": "to_date", "time": "to_time"}[_pattern_kind(call, 1)]
    return f"{function}({call[0].sql}, {pattern(call, 1, parses=True)})"


def _is_date(call: Call) -> str:
    call.takes(2)
    function = "try_to_time" if _pattern_kind(call, 1) == "time" else "try_to_timestamp"
    return f"({function}({call[0].sql}, {pattern(call, 1, parses=True)}) IS NOT NULL)"


def _from_unixtime(call: Call) -> str:
    call.takes(1, 3)
    form, zone = call.given(1), call.given(2)
    moment = f"timestamp_seconds({call[0].sql})"
    if zone is not None:
        moment = f"from_utc_timestamp({moment}, {zone.sql})"
    return f"date_format({moment}, {pattern(call, 1) if form else text(_DEFAULT_FORMAT)})"


TIME_FUNCTIONS: Mapping[str, Translation] = {
    "CURRENT_DATE": renamed("current_date", 0),
    "CURRENT_TIME": renamed("current_time", 0),
    "CURRENT_TIMESTAMP": renamed("localtimestamp", 0),
    "NOW": renamed("localtimestamp", 0),
    "DATEADD": _add,
    "TIMESTAMPADD": _add,
    "DATEDIFF": _diff,
    "DATE_TRUNC": _trunc,
    "DAYNAME": _named("EEEE"),
    "MONTHNAME": _named("MMMM"),
    "DAY_OF_MONTH": renamed("day", 1),
    "DAY_OF_WEEK": _day_of_week,
    "DAY_OF_YEAR": renamed("dayofyear", 1),
    "FORMATDATETIME": _format,
    "WEEK": _week,
    "IS_DATE": _is_date,
    "PARSEDATETIME": _parse,
    "TO_DATE": _parse,
    "FROM_UNIXTIME": _from_unixtime,
}
