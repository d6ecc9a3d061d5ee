"""Checks unbounded numbers that are kept as text: plain digits, ``NaN``, ``Infinity`` or ``-Infinity``."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from seatunnel_py.api import DataType
from seatunnel_py.formats.value_text.arrays import mended
from seatunnel_py.formats.value_text.rules import MisfitError, not_a

if TYPE_CHECKING:
    import pyarrow as pa

PLAIN = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$|^NaN$|^-?Infinity$"
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,5})?", re.ASCII)
_WORDS = {"nan": "NaN", "infinity": "Infinity", "inf": "Infinity", "-infinity": "-Infinity", "-inf": "-Infinity"}


def check_numbers(texts: pa.Array, dtype: DataType) -> pa.Array:
    """Convert the texts to plain digits. Raises MisfitError for the first that is not a number."""
    import pyarrow.compute as pc

    odd = pc.invert(pc.fill_null(pc.match_substring_regex(texts, PLAIN), True))
    if not pc.any(odd).as_py():
        return texts
    try:
        return mended(texts, odd, lambda text: plain_number(text, dtype))
    except ValueError:
        for index, text in enumerate(texts.to_pylist()):
            try:
                plain_number(text or "0", dtype)
            except ValueError as error:
                raise MisfitError(index, str(error)) from None
        raise


def plain_number(text: str, dtype: DataType) -> str:
    """Plain digits of a number in any spelling."""
    text = text.strip()
    word = _WORDS.get(text.lower().removeprefix("+"))
    if word:
        return word
    try:
        if not _NUMBER.fullmatch(text):
            raise ValueError(text)
        return format(Decimal(text), "f")
    except (ValueError, InvalidOperation):
        raise ValueError(not_a(text, dtype)) from None
