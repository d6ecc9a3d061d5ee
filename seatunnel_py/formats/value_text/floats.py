"""Converts columns of floating-point numbers to text in Java's spelling: ``1.0``, ``0.001``, ``1.0E7``.

SeaTunnel's files and messages use that spelling, and so do Spark's casts. The text also marks a number as fractional,
which matters to readers that infer types from text (most JSON readers).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from seatunnel_py.formats.row_text import PLAIN_BELOW, PLAIN_FROM

if TYPE_CHECKING:
    import pyarrow as pa

ARROW_PLAIN_FROM, ARROW_PLAIN_BELOW = 1e-6, 1e10  # outside of these Arrow writes a power of ten, too


def float_text(array: pa.Array) -> pa.Array:
    """The shortest digits that restore the number, in Java's spelling; ``NaN``, ``Infinity`` and ``-Infinity``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_float16(array.type):
        array = array.cast(pa.float32())
    text = pc.cast(array, pa.string())
    size = pc.abs(array)
    is_plain = pc.or_(pc.and_(pc.greater_equal(size, PLAIN_FROM), pc.less(size, PLAIN_BELOW)), pc.equal(size, 0.0))
    if pc.all(is_plain).as_py() is not False:
        return _with_fraction(text)
    others = pc.fill_null(pc.invert(is_plain), False)
    powers = _with_power(text.filter(others), size.filter(others))
    return pc.replace_with_mask(_with_fraction(text), others, powers)


def _with_fraction(text: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    has_point = pc.match_substring(text, ".")
    if pc.all(has_point).as_py() is not False:
        return text
    return pc.if_else(has_point, text, pc.binary_join_element_wise(text, ".0", ""))


def _with_power(text: pa.Array, size: pa.Array) -> pa.Array:
    """Convert Arrow's text of numbers that Java writes with a power of ten."""
    import pyarrow.compute as pc

    text = pc.replace_substring_regex(text, r"^(-?\d)e", r"\1.0e")
    text = pc.replace_substring(pc.replace_substring(text, "e+", "E"), "e", "E")
    for pattern, replacement in _whole_to_power(size):
        text = pc.replace_substring_regex(text, pattern, replacement)
    if pc.all(pc.is_finite(size)).as_py() is False:
        text = pc.replace_substring(pc.replace_substring(text, "nan", "NaN"), "inf", "Infinity")
    return text


def _whole_to_power(size: pa.Array) -> Iterator[tuple[str, str]]:
    """Replacements for numbers that Arrow writes without a power and Java with one."""
    large, small = (
        _any_within(size, PLAIN_BELOW, ARROW_PLAIN_BELOW),
        _any_within(size, ARROW_PLAIN_FROM / 10, PLAIN_FROM),
    )
    for power in (7, 8, 9) if large else ():
        yield rf"^(-?\d)(\d{{{power}}})(?:\.(\d+))?$", rf"\1.\2\3E{power}"
    for power in (4, 5, 6) if small else ():
        yield rf"^(-?)0\.0{{{power - 1}}}([1-9])(\d*)$", rf"\1\2.\3E-{power}"
    if large or small:
        yield r"\.(\d*?)0*E", r".\1E"
        yield r"\.E", ".0E"


def _any_within(size: pa.Array, low: float, high: float) -> bool:
    import pyarrow.compute as pc

    return pc.any(pc.and_(pc.greater_equal(size, low), pc.less(size, high))).as_py() is True
