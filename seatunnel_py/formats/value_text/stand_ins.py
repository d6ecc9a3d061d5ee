"""A delimiter of several characters, for parsers that know only one."""

from __future__ import annotations

from seatunnel_py.api import FatalError

_STAND_INS = "\x1f\x1e\x1d\x1c\x1b\x1a\x19\x18\x17\x16\x15\x14\x13\x12\x11\x0f\x0e\x0c\x0b\x01"
"""Characters that may stand in for it, where a text does not hold them."""


def stand_in(text: str, delimiter: str) -> str:
    """One character of ASCII that stands for the delimiter in this text; it may be itself."""
    return delimiter if len(delimiter) == 1 and delimiter.isascii() else unused(text, "field_delimiter", delimiter)


def unused(text: str, option: str, delimiter: str) -> str:
    """A control character that the text does not hold. ``option`` and ``delimiter`` are what asks for it."""
    mark = next((mark for mark in _STAND_INS if mark not in text), None)
    if mark is None:
        raise FatalError(
            f"{option} = {delimiter!r}: the text holds every control character that could stand for it",
            "choose a delimiter of one character" if option == "field_delimiter" else "let rows end with line breaks",
        )
    return mark
