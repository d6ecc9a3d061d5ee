"""Translates functions on numbers, with SeaTunnel's meaning, to Spark SQL."""

from __future__ import annotations

from collections.abc import Mapping

from seatunnel_py.spark.dialect.call import FLOATING, INTEGERS, Call, Translation, renamed
from seatunnel_py.spark.dialect.remainder import decimal_remainder
from seatunnel_py.spark.query.types import text

_DECIMALS_MAX = 15  # digits after the point that Spark's floor and ceil keep of a double


def _mod(call: Call) -> str:
    """A whole divisor makes a whole number, a double one a double; among decimals every digit stays."""
    call.takes(2)
    left, right = call.args
    result = f"{left} % {right}"
    if not left.type or not right.type:
        return f"({result})"
    if FLOATING & {left.type, right.type}:
        return decimal_remainder(left, right)
    if right.type in INTEGERS and right.type != left.type:
        return f"CAST({result} AS {right.type.upper()})"
    return f"({result})"


def _whole(name: str) -> Translation:
    """CEIL and FLOOR give an INT; with a number of digits they keep the type."""

    def translate(call: Call) -> str:
        call.takes(1, 2)
        if len(call) == 1:
            return f"CAST({name}({call[0].sql}) AS INT)"
        rounded = f"{name}({call[0].sql}, {call[1].sql})"
        dtype = call[0].type
        if dtype in FLOATING:
            return f"IF({_has_digits(call[0].sql)}, CAST({rounded} AS {dtype.upper()}), {call[0].sql})"
        return f"CAST({rounded} AS {dtype.upper()})" if dtype in INTEGERS else rounded

    return translate


def _positive(name: str, function: str) -> Translation:
    """A logarithm of zero or less is an error, as in SeaTunnel; Spark would return null."""

    def translate(call: Call) -> str:
        call.takes(1)
        return _checked(call[0].sql, f"{name} of zero or less", f"{function}({call[0].sql})")

    return translate


def _log(call: Call) -> str:
    """The base comes first; without one it is e."""
    call.takes(1, 2)
    if len(call) == 1:
        return _checked(call[0].sql, "LOG of zero or less", f"ln({call[0].sql})")
    base, value = call.args
    # The quotient of two logarithms differs in the last digit from the logarithm to that base.
    logarithm = f"log10({value.sql})" if base.integer == 10 else f"log({base.sql}, {value.sql})"
    logarithm = _checked(value.sql, "LOG of zero or less", logarithm)
    if base.integer is None:
        logarithm = _checked(base.sql, "LOG to a base of zero or less", logarithm)
        logarithm = f"IF(({base.sql}) IS NULL, CAST(NULL AS DOUBLE), {logarithm})"
    return logarithm


def _cot(call: Call) -> str:
    call.takes(1)
    return f"IF(({call[0].sql}) = 0, raise_error({text('COT of zero')}), cot({call[0].sql}))"


def _checked(value: str, message: str, result: str) -> str:
    return f"IF(({value}) <= 0, raise_error({text(message)}), {result})"


def _sign(call: Call) -> str:
    """-1, 0 or 1 as INT; 0 for null and NaN."""
    call.takes(1)
    x = str(call[0])
    return f"CASE WHEN {x} > 0 AND NOT isnan(CAST({x} AS DOUBLE)) THEN 1 WHEN {x} < 0 THEN -1 ELSE 0 END"


def _trunc(call: Call) -> str:
    """Round towards zero, to the same type."""
    call.takes(1, 2)
    x, digits = str(call[0]), call.given(1)
    places = 0 if digits is None else digits.integer
    if places is None:
        raise call.error("wants its number of digits as a number")
    dtype = call[0].type
    if dtype in INTEGERS:
        return x if places >= 0 else f"CAST({x} - {x} % {10**-places} AS {dtype.upper()})"
    if dtype.startswith(("date", "time")):
        raise call.error("takes a number; DATE_TRUNC is for dates and times")
    if places > _DECIMALS_MAX and not dtype.startswith("decimal"):
        return x
    scale = "" if places == 0 else f", {places}"
    cut = f"IF({x} < 0, ceil({x}{scale}), floor({x}{scale}))"
    if dtype.startswith("decimal"):
        return cut
    large = x if places >= 0 else f"{x} - {x} % {10**-places}D"
    return f"IF({_has_digits(x)}, CAST({cut} AS {(dtype or 'double').upper()}), {large})"


def _has_digits(x: str) -> str:
    """Whether a double is small enough for Spark's rounding, which converts it to a decimal: a larger one has no digit
    after the point to cut off, nor has NaN."""
    return f"abs({x}) < 1e15"


def _trim_scale(call: Call) -> str:
    """The number as text without trailing zeros."""
    call.takes(1)
    dtype = call[0].type
    number = f"CAST({call[0].sql} AS DECIMAL(38, 18))" if dtype in ("double", "float") else call[0].sql
    return f"regexp_replace(CAST({number} AS STRING), {text(chr(92) + '.0*$|(' + chr(92) + '.[0-9]*[1-9])0+$')}, '$1')"


def _random(call: Call) -> str:
    call.takes(0, 1)
    if len(call) == 1 and not call[0].is_null and call[0].integer is None:
        raise call.error("wants its seed as a number")
    return call.plain("rand")


NUMBER_FUNCTIONS: Mapping[str, Translation] = {
    "MOD": _mod,
    "COT": _cot,
    "CEIL": _whole("ceil"),
    "CEILING": _whole("ceil"),
    "FLOOR": _whole("floor"),
    "LN": _positive("LN", "ln"),
    "LOG10": _positive("LOG10", "log10"),
    "LOG": _log,
    "SIGN": _sign,
    "TRUNC": _trunc,
    "TRUNCATE": _trunc,
    "TRIM_SCALE": _trim_scale,
    "RAND": _random,
    "RANDOM": _random,
    "POW": renamed("power", 2),
}
