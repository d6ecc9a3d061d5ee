"""Checks the shape of plain data from outside; other shapes are refused, never repaired.

Rules. (SH1) A value of another type is an error, also a bool for a number. (SH2) A row has exactly its width.

May not know: the meaning of the data.
"""

from __future__ import annotations

from typing import TypeVar

from seatunnel_py.protocol.model.stream_elements import Plain

T = TypeVar("T")


def _is(value: Plain, kind: type[T]) -> T:
    # bool is an int in Python, but a number in place of a flag is damage.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{value!r:.50} is not of the type {kind.__name__}")
    return value


def number(value: Plain) -> int:
    """A whole number."""
    return _is(value, int)


def text(value: Plain) -> str:
    """A text."""
    return _is(value, str)


def flag(value: Plain) -> bool:
    """True or false."""
    return _is(value, bool)


def rows(value: Plain) -> list[Plain]:
    """A list."""
    return _is(value, list)


def row(value: Plain, width: int) -> list[Plain]:
    """A list of this width."""
    found = rows(value)
    if len(found) != width:
        raise ValueError(f"{len(found)} values instead of {width}")
    return found


def mapping(value: Plain) -> dict[str, Plain]:
    """A mapping with texts for keys."""
    return _is(value, dict)
