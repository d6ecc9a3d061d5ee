"""Translates the remainder of a division with doubles, in decimal digits: ``mod(13, 5.4)`` is 2.2, as in SeaTunnel.

The remainder of the binary numbers is another one (2.1999999999999993), and further off the larger the quotient is. So
both operands become decimals of their shortest digits. A double may have more digits than Spark's decimals hold: 18, 24
or 6 after the point are tried, and a pair that fits none is refused. A dividend smaller than the divisor is its own
remainder.
"""

from __future__ import annotations

from seatunnel_py.spark.dialect.call import INTEGERS, Argument
from seatunnel_py.spark.query.types import text

_SCALES = (18, 24, 6)
_REFUSED = "MOD of numbers with more digits than 38: cast them to DECIMAL or round them first"


def decimal_remainder(left: Argument, right: Argument) -> str:
    """``left`` and ``right`` are numbers, one of them at least a float or a double. The result has the type of the
    divisor; a decimal result has 18 digits after the point."""
    a, b = _wide(left), _wide(right)
    x, y = f"abs(CAST({a} AS DOUBLE))", f"abs(CAST({b} AS DOUBLE))"
    remainders = ", ".join(_exact(a, b, scale) for scale in _SCALES)
    found = f"COALESCE({remainders}, raise_error({text(_REFUSED)}))"
    dtype = f"DECIMAL(38,{_SCALES[0]})" if right.type.startswith("decimal") else right.type.upper()
    if right.type in INTEGERS:  # the rest is cut off at the point
        remainder = f"IF({x} < 1 AND {b} <> 0, 0, CAST({found} AS DECIMAL(38,{_SCALES[0]})))"
    else:
        remainder = f"IF({x} < {y} AND NOT isnan({y}), CAST(CAST({a} AS {dtype}) AS STRING), {found})"
    return f"IF({a} IS NULL OR {b} IS NULL, NULL, CAST({remainder} AS {dtype}))"


def _wide(one: Argument) -> str:
    return f"CAST({one.sql} AS DOUBLE)" if one.type == "float" else f"({one.sql})"


def _exact(a: str, b: str, scale: int) -> str:
    """The remainder as text, if both numbers fit into decimals of that scale; else null."""
    x, y = (f"try_cast({one} AS DECIMAL(38,{scale}))" for one in (a, b))
    fits = f"CAST({x} AS DOUBLE) = CAST({a} AS DOUBLE) AND CAST({y} AS DOUBLE) = CAST({b} AS DOUBLE)"
    return f"IF({fits}, CAST({x} % {y} AS STRING), NULL)"
