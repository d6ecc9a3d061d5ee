"""Replaces a delimiter of several characters, for parsers that support only one."""

from __future__ import annotations

from seatunnel_py.api import FatalError

_STAND_INS = "\x1f\x1e\x1d\x1c\x1b\x1a\x19\x18\x17\x16\x15\x14\x13\x12\x11\x0f\x0e\x0c\x0b\x01"
"""Characters that may replace the delimiter, if a text does not contain them."""


def stand_in(text: str, delimiter: str) -> str:
    """ASCII character that replaces the delimiter in this text; may be the delimiter itself."""
    return delimiter if len(delimiter) == 1 and delimiter.isascii() else unused(text, "field_delimiter", delimiter)


def unused(text: str, option: str, delimiter: str) -> str:
    """A control character that the text does not contain. ``option`` and ``delimiter`` are for the error message."""
    mark = next((mark for mark in _STAND_INS if mark not in text), None)
    if mark is None:
        raise FatalError(
            f"{option} = {delimiter!r}: the text contains every control character that could replace it",
            "choose a delimiter of one character" if option == "field_delimiter" else "let rows end with line breaks",
        )
    return mark
