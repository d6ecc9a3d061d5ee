"""Translates Java's date and time patterns of SeaTunnel's functions for Spark, which knows most of their letters."""

from __future__ import annotations

import re

from seatunnel_py.spark.dialect.call import Call
from seatunnel_py.spark.query.types import text

_KNOWN = frozenset("GyMLdDQqEFahHkKmsSVzOXxZ")
_NOT_PARSED = frozenset("EFQq")
_QUOTED = re.compile(r"('[^']*')")


def pattern(call: Call, index: int, *, parses: bool = False) -> str:
    """The pattern argument as Spark's text. A literal is checked before any row is read: Spark's own error about a
    letter comes with the first row, and names settings that do not exist here."""
    given = call[index].text
    if given is None:
        return call[index].sql
    # Java's u is a year that may be before Christ; no column here holds one.
    parts = [part if part.startswith("'") else part.replace("u", "y") for part in _QUOTED.split(given)]
    letters = {letter for part in parts if not part.startswith("'") for letter in part if letter.isascii()}
    unknown = {letter for letter in letters if letter.isalpha()} - _KNOWN
    if parses:
        unknown |= letters & _NOT_PARSED
    if unknown:
        raise call.error(_refusal(given, sorted(unknown), parses=parses))
    return text("".join(parts))


def _refusal(given: str, letters: list[str], *, parses: bool) -> str:
    does = "cannot read dates by" if parses else "does not know"
    named = ", ".join(repr(letter) for letter in letters)
    hint = "; the year is y: Y is the year of a week" if "Y" in letters else ""
    return f"{does} the letter {named} of the pattern {given!r}{hint}"
