"""Parses whole and floating-point numbers from text: the nearest number of the type, never infinity or 0 instead."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from seatunnel_py.api import DataType, Kind, to_arrow
from seatunnel_py.formats.value_text.rules import MisfitError, not_a

if TYPE_CHECKING:
    import pyarrow as pa

_DIGITS = re.compile(r"[+-]?[0-9]+")
_JAVA_FLOAT = re.compile(r"[0-9.eE+-]+[fFdD]")
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_NOT_ZERO = re.compile(r"[+-]?[0.]*[1-9]")
FLOAT_MAX = 3.4028235677973366e38  # half a step above the largest single: from here on a number is infinite

_SMALL_EXPONENT = re.compile(rb"[0-9.][eE]-[0-9]{2,9}(?![0-9A-Za-z_-])")
_SMALL_LETTER = 0x20  # the bit that distinguishes small from capital letters
_ZEROS = b"." + b"0" * 44  # smaller than any single; fewer zeros are not an underflow


def parse_integers(texts: pa.Array, dtype: DataType) -> pa.Array:
    """Parse integers. Raises MisfitError for the first text that is not one, or out of range."""
    import pyarrow as pa

    arrow = to_arrow(dtype)
    try:
        return texts.cast(arrow)
    except pa.ArrowInvalid:
        pass  # a plus sign; or the loop below finds the value, for the message
    values = []
    for index, text in enumerate(texts.to_pylist()):
        if text is not None and not _DIGITS.fullmatch(text):
            raise MisfitError(index, not_a(text, dtype))
        try:
            values.append(pa.scalar(None if text is None else int(text), arrow).as_py())
        except (ValueError, OverflowError, pa.ArrowInvalid):
            raise MisfitError(index, not_a(text, dtype)) from None
    return pa.array(values, arrow)


def parse_floats(texts: pa.Array, dtype: DataType) -> pa.Array:
    """Parse floats. Raises MisfitError for the first text that is not a number, or that would become infinity or 0."""
    import pyarrow as pa
    import pyarrow.compute as pc

    arrow = to_arrow(dtype)
    try:
        found = texts.cast(arrow)
    except pa.ArrowInvalid:
        pass  # a Java type suffix; or the loop below finds the value, for the message
    else:
        odd = pc.fill_null(pc.or_(pc.is_inf(found), pc.equal(found, pa.scalar(0, arrow))), False)
        if not any(map(is_beyond, texts.filter(odd).unique().to_pylist())):
            return found
    values = []
    for index, text in enumerate(texts.to_pylist()):
        try:
            values.append(None if text is None else exact_float(text, dtype))
        except ValueError as error:
            raise MisfitError(index, str(error)) from None
    return pa.array(values, pa.float64()).cast(arrow)


def is_beyond(text: str) -> bool:
    """True if the text, which a cast turned into infinity or zero, is neither."""
    return not _INFINITE.fullmatch(text) and bool(_NOT_ZERO.match(text))


def exact_float(text: str, dtype: DataType) -> float:
    """Parse a number, with a type suffix as in Java. Raises ValueError."""
    try:
        number = float(text[:-1] if _JAVA_FLOAT.fullmatch(text) else text)
    except ValueError:
        raise ValueError(not_a(text, dtype)) from None
    if "_" in text:
        raise ValueError(not_a(text, dtype))
    return bounded(number, text, dtype)


def bounded(number: float, text: str, dtype: DataType) -> float:
    """Return the number. Raises ValueError if it became infinity or 0; ``text`` is its original spelling."""
    if dtype.kind is not Kind.DOUBLE and math.isfinite(number):
        import numpy as np

        number = math.copysign(math.inf, number) if abs(number) >= FLOAT_MAX else float(np.float32(number))
    if (math.isinf(number) or number == 0) and is_beyond(text):
        what = "too large" if number else "too small"
        raise ValueError(not_a(text, dtype, f": it is {what}"))
    return number


def may_underflow(text: bytes) -> bool:
    """True if the document may contain a number so small that a parser makes it 0."""
    return _ZEROS in text or (_has_minus_power(text) and _SMALL_EXPONENT.search(text) is not None)


def _has_minus_power(text: bytes) -> bool:
    """True if the text contains ``e-`` or ``E-``. A search for two bytes costs ten times as much."""
    import numpy as np

    codes = np.frombuffer(text, np.uint8)
    before = codes[np.flatnonzero(codes[1:] == ord("-"))]
    return bool(((before | _SMALL_LETTER) == ord("e")).any())
