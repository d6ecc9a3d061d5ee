"""Defines a job file's rules for text, and the error for a value that breaks them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seatunnel_py.api import DataType, Kind


class MisfitError(ValueError):
    """One value of a column does not fit its type; ``index`` is its place in the column."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


class NumberText(str):
    """A JSON number with a fraction or an exponent, in its original digits. Passed to ``json.loads`` as
    ``parse_float``."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TextRules:
    """Rules for reading values from text. Patterns are Java's; None: the usual spellings. ``null_format`` None: blank
    is null. ``drop_surplus``: surplus fields of a nested row are dropped, as in SeaTunnel; else they are an error."""

    null_format: str | None = None
    date: str | None = None
    datetime: str | None = None
    time: str | None = None
    drop_surplus: bool = False

    def pattern(self, kind: Kind) -> str | None:
        return {Kind.DATE: self.date, Kind.TIME: self.time}.get(kind, self.datetime)


def not_a(value: object, dtype: DataType, more: str = "") -> str:
    """Message for a misfit; very long values are cut."""
    text = repr(value)
    return f"{text if len(text) <= 120 else text[:119] + '…'} is not a {dtype}{more}"


def inner_types(dtype: DataType) -> Iterator[DataType]:
    """Yield the type, and all types inside of it."""
    yield dtype
    for inner in (dtype.key, dtype.element, *(field for _, field in dtype.fields)):
        if inner is not None:
            yield from inner_types(inner)
