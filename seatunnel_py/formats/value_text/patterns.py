"""Compiles Java's patterns of dates and times, once each.

A pattern of fixed-width numbers (``yyyy.MM.dd HH:mm:ss``) can be turned into ISO text, which Arrow reads at its speed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import lru_cache

from seatunnel_py.api import DataType, Kind
from seatunnel_py.api.types import NANOSECONDS

NAMED_PATTERNS = {
    "YYYY_MM_DD": "yyyy-MM-dd",
    "YYYY_MM_DD_SPOT": "yyyy.MM.dd",
    "YYYY_MM_DD_SLASH": "yyyy/MM/dd",
    "YYYY_MM_DD_HH_MM_SS": "yyyy-MM-dd HH:mm:ss",
    "YYYY_MM_DD_HH_MM_SS_SPOT": "yyyy.MM.dd HH:mm:ss",
    "YYYY_MM_DD_HH_MM_SS_SLASH": "yyyy/MM/dd HH:mm:ss",
    "YYYY_MM_DD_HH_MM_SS_NO_SPLIT": "yyyyMMddHHmmss",
    "YYYY_MM_DD_HH_MM_SS_ISO8601": "yyyy-MM-dd'T'HH:mm:ss",
    "HH_MM_SS": "HH:mm:ss",
    "HH_MM_SS_SSS": "HH:mm:ss.SSS",
}
"""SeaTunnel's names of patterns; job files may use them instead of a pattern."""

DEFAULT_PATTERNS = {Kind.DATE: "yyyy-MM-dd", Kind.TIME: "HH:mm:ss", Kind.TIMESTAMP: "yyyy-MM-dd HH:mm:ss"}

_PART = {"y": "year", "u": "year", "M": "month", "d": "day", "H": "hour", "h": "hour12", "m": "minute"}
_PART |= {"s": "second", "S": "fraction", "n": "fraction", "a": "half"}


@dataclass(frozen=True, slots=True)
class PatternPart:
    """A field (``part`` set, ``width`` letters) or literal text."""

    part: str
    width: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled Java date pattern. ``iso`` rebuilds ISO text from the groups of ``regex``; empty: impossible."""

    text: str
    tokens: tuple[PatternPart, ...]
    regex: str
    iso: str

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(token.part for token in self.tokens if token.part)


@lru_cache(maxsize=256)
def compile_pattern(text: str) -> Pattern:
    """Compile a Java pattern, or SeaTunnel's name of one. Raises ValueError for unsupported letters."""
    text = NAMED_PATTERNS.get(text.strip().upper(), text)
    tokens = tuple(_tokens(text))
    parts = [token.part for token in tokens if token.part]
    if not parts:
        raise ValueError(f"{text!r} is not a date or time pattern: it has no field such as yyyy or HH")
    repeated = {part for part in parts if parts.count(part) > 1}
    if repeated:
        raise ValueError(f"{text!r}: the pattern has the field {sorted(repeated)[0]} twice")
    regex = "".join(_group(token) for token in tokens)
    return Pattern(text, tokens, regex, _iso_template(tokens))


def _tokens(text: str) -> list[PatternPart]:
    tokens: list[PatternPart] = []
    at = 0
    while at < len(text):
        letter = text[at]
        if letter == "'":
            closing = text.find("'", at + 1)
            if closing < 0:
                raise ValueError(f"{text!r}: a quote in the pattern is not closed")
            tokens.append(PatternPart("", 0, text[at + 1 : closing] or "'"))
            at = closing + 1
        elif letter.isascii() and letter.isalpha():
            width = len(text[at:]) - len(text[at:].lstrip(letter))
            if letter not in _PART or (letter == "M" and width > 2):
                raise ValueError(f"{text!r}: the pattern field {letter * width!r} is not supported")
            tokens.append(PatternPart(_PART[letter], width))
            at += width
        elif letter in "[]{}#":
            raise ValueError(f"{text!r}: {letter!r} is not supported in a pattern")
        else:
            tokens.append(PatternPart("", 0, letter))
            at += 1
    return tokens


def _group(token: PatternPart) -> str:
    if not token.part:
        return re.escape(token.text).replace("\\ ", " ")
    if token.part == "half":
        return "([AaPp][Mm])"
    if token.part == "fraction":
        return f"([0-9]{{{token.width}}})"
    if token.part == "year":
        return "([0-9]{4})" if token.width != 2 else "([0-9]{2})"
    return "([0-9]{2})" if token.width == 2 else "([0-9]{1,2})"


def _iso_template(tokens: tuple[PatternPart, ...]) -> str:
    """ISO text with back-references, if every field has the fixed width of ISO."""
    fields = [token for token in tokens if token.part]
    index = {token.part: f"\\{number}" for number, token in enumerate(fields, 1)}
    for token in fields:
        wanted = {"year": token.width != 2, "fraction": token.width <= 9, "half": False, "hour12": False}
        if not wanted.get(token.part, token.width == 2):
            return ""
    day = "-".join(index.get(part, default) for part, default in _DAY)
    clock = ":".join(index.get(part, "00") for part in ("hour", "minute", "second"))
    fraction = f".{index['fraction']}" if "fraction" in index else ""
    return f"{day}T{clock}{fraction}"


_DAY = (("year", "1970"), ("month", "01"), ("day", "01"))


_NEEDED = {
    Kind.DATE: ("year", "month", "day"),
    Kind.TIME: ("hour", "minute", "second"),
    Kind.TIMESTAMP: ("year", "month", "day", "hour", "minute", "second"),
}


def lost_by(pattern: str, dtype: DataType) -> str:
    """The part of values that a pattern omits; empty: it writes everything."""
    compiled = compile_pattern(pattern)
    parts = set(compiled.parts)
    if "hour12" in parts and "half" in parts:
        parts.add("hour")
    lost = [part for part in _NEEDED.get(dtype.kind, _NEEDED[Kind.TIMESTAMP]) if part not in parts]
    if any(token.part == "year" and token.width == 2 for token in compiled.tokens):
        lost.append("century")
    wanted = 9 if dtype.unit == NANOSECONDS else 6
    digits = next((token.width for token in compiled.tokens if token.part == "fraction"), 0)
    if dtype.kind is not Kind.DATE and digits < wanted:
        lost.append(f"digits of a second beyond {digits}" if digits else "fraction of a second")
    return ", ".join(lost)


def format_one(value: datetime | date | time, pattern: Pattern, nanos: int = 0) -> str:
    """Format one date, time or timestamp; ``nanos`` are the nanoseconds beyond its microseconds."""
    found = {part: getattr(value, part, 0) for part in ("year", "month", "day", "hour", "minute", "second")}
    found["hour12"] = found["hour"] % 12 or 12
    texts = []
    for token in pattern.tokens:
        if not token.part:
            texts.append(token.text)
        elif token.part == "half":
            texts.append("PM" if found["hour"] >= 12 else "AM")
        elif token.part == "fraction":
            fraction = f"{getattr(value, 'microsecond', 0):06d}{nanos:03d}"
            texts.append(fraction.ljust(token.width, "0")[: token.width])
        elif token.part == "year" and token.width == 2:
            texts.append(f"{found['year'] % 100:02d}")
        else:
            texts.append(str(found[token.part]).zfill(4 if token.part == "year" else token.width))
    return "".join(texts)
