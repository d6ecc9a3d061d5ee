"""Dates and times in text: Java patterns, compiled once, applied to whole columns.

A pattern of fixed-width numbers (``yyyy.MM.dd HH:mm:ss``) is turned round into ISO text and cast, which is strict
and runs at Arrow's speed; any other pattern goes value by value. Without a pattern ISO text is tried first, then
the other spellings that job files meet.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.json_values import from_json
from seatunnel_py.api import DataType, Kind, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

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
"""The peer's names of patterns, which job files may write instead of the pattern itself."""

DEFAULT_PATTERNS = {Kind.DATE: "yyyy-MM-dd", Kind.TIME: "HH:mm:ss", Kind.TIMESTAMP: "yyyy-MM-dd HH:mm:ss"}

_PART = {"y": "year", "u": "year", "M": "month", "d": "day", "H": "hour", "h": "hour12", "m": "minute"}
_PART |= {"s": "second", "S": "fraction", "n": "fraction", "a": "half"}
_DIRECTIVE = {"year": "%Y", "month": "%m", "day": "%d", "hour": "%H", "hour12": "%I", "minute": "%M"}
_DIRECTIVE |= {"second": "%S", "half": "%p"}


@dataclass(frozen=True, slots=True)
class Token:
    """A field (``part`` set, ``width`` letters) or literal text."""

    part: str
    width: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled Java date pattern. ``iso`` rebuilds ISO text from the groups of ``regex``; empty: it cannot."""

    text: str
    tokens: tuple[Token, ...]
    regex: str
    iso: str

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(token.part for token in self.tokens if token.part)


@lru_cache(maxsize=256)
def compile_pattern(text: str) -> Pattern:
    """Read a Java pattern (or the peer's name of one). Raises ValueError for letters that are not supported."""
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


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        letter = text[at]
        if letter == "'":
            closing = text.find("'", at + 1)
            if closing < 0:
                raise ValueError(f"{text!r}: a quote in the pattern is not closed")
            tokens.append(Token("", 0, text[at + 1 : closing] or "'"))
            at = closing + 1
        elif letter.isascii() and letter.isalpha():
            width = len(text[at:]) - len(text[at:].lstrip(letter))
            if letter not in _PART or (letter == "M" and width > 2):
                raise ValueError(f"{text!r}: the pattern field {letter * width!r} is not supported")
            tokens.append(Token(_PART[letter], width))
            at += width
        elif letter in "[]{}#":
            raise ValueError(f"{text!r}: {letter!r} is not supported in a pattern")
        else:
            tokens.append(Token("", 0, letter))
            at += 1
    return tokens


def _group(token: Token) -> str:
    if not token.part:
        return re.escape(token.text).replace("\\ ", " ")
    if token.part == "half":
        return "([AaPp][Mm])"
    if token.part == "fraction":
        return f"([0-9]{{{token.width}}})"
    if token.part == "year":
        return "([0-9]{4})" if token.width != 2 else "([0-9]{2})"
    return "([0-9]{2})" if token.width == 2 else "([0-9]{1,2})"


def _iso_template(tokens: tuple[Token, ...]) -> str:
    """ISO text with back-references, where every field has a fixed width that ISO wants."""
    fields = [token for token in tokens if token.part]
    index = {token.part: f"\\{number}" for number, token in enumerate(fields, 1)}
    for token in fields:
        wanted = {"year": token.width != 2, "fraction": token.width <= 6, "half": False, "hour12": False}
        if not wanted.get(token.part, token.width == 2):
            return ""
    day = "-".join(index.get(part, default) for part, default in _DAY)
    clock = ":".join(index.get(part, "00") for part in ("hour", "minute", "second"))
    fraction = f".{index['fraction']}" if "fraction" in index else ""
    return f"{day}T{clock}{fraction}"


_DAY = (("year", "1970"), ("month", "01"), ("day", "01"))


# ---------------------------------------------------------------- reading


class MisfitError(ValueError):
    """One value of a column does not fit its type; ``index`` is its place in the column."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


def parse_column(texts: pa.StringArray, dtype: DataType, pattern: str | None) -> pa.Array:
    """Text to dates, times or timestamps; nulls stay. Raises MisfitError for the first value that does not fit."""
    import pyarrow as pa
    import pyarrow.compute as pc

    arrow = to_arrow(dtype)
    if pattern is None:
        try:
            return _cast_iso(texts, arrow)
        except pa.ArrowInvalid:
            return _each(texts, arrow, lambda text: from_json(text, dtype, "value"), dtype)
    compiled = compile_pattern(pattern)
    if compiled.iso:
        whole = f"^{compiled.regex}$"
        fits = pc.match_substring_regex(texts, whole)
        wrong = pc.index(fits, pa.scalar(False)).as_py()
        if wrong < 0:
            try:
                return _cast_iso(pc.replace_substring_regex(texts, whole, compiled.iso), arrow)
            except pa.ArrowInvalid:
                pass  # a day that no month has: found value by value, for the message
    return _each(texts, arrow, lambda text: _parse_one(text, compiled, dtype.kind), dtype, pattern)


def _cast_iso(texts: pa.Array, arrow: pa.DataType) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_date(arrow):
        try:
            return pc.cast(texts, arrow)
        except pa.ArrowInvalid:
            return pc.cast(pc.cast(texts, pa.timestamp("us")), arrow)
    if pa.types.is_time(arrow):
        has_day = pc.match_substring(texts, "T")
        if not pc.any(has_day).as_py():
            texts = pc.binary_join_element_wise("1970-01-01T", texts, "")
        return pc.cast(pc.cast(texts, pa.timestamp("us")), arrow)
    if arrow.tz and not pc.any(pc.match_substring_regex(texts, "(Z|[+-][0-9:]{4,6})$")).as_py():
        return pc.cast(texts, pa.timestamp("us")).cast(arrow)
    return pc.cast(texts, arrow)


def _each(
    texts: pa.Array, arrow: pa.DataType, parse: Callable[[str], Any], dtype: DataType, pattern: str | None = None
) -> pa.Array:
    import pyarrow as pa

    values: list[Any] = []
    for index, text in enumerate(texts.to_pylist()):
        try:
            values.append(None if text is None else parse(text.strip()))
        except ValueError:
            like = f" of the form {pattern!r}" if pattern else ""
            raise MisfitError(index, f"{text!r} is not a {dtype}{like}") from None
    return pa.array(values, arrow)


def _parse_one(text: str, pattern: Pattern, kind: Kind) -> Any:
    match = re.fullmatch(pattern.regex, text, re.ASCII)
    if match is None:
        raise ValueError(text)
    found = dict(zip(pattern.parts, match.groups(), strict=True))
    year = int(found.get("year", "1970"))
    year += 2000 if len(found.get("year", "1970")) == 2 else 0
    hour = int(found.get("hour", 0))
    if "hour12" in found:
        hour = int(found["hour12"]) % 12 + (12 if found.get("half", "AM").upper() == "PM" else 0)
    micros = int(found.get("fraction", "0").ljust(6, "0")[:6])
    moment = datetime(  # noqa: DTZ001  (a timestamp column has no zone)
        year,
        int(found.get("month", 1)),
        int(found.get("day", 1)),
        hour,
        int(found.get("minute", 0)),
        int(found.get("second", 0)),
        micros,
    )
    if kind is Kind.DATE:
        return moment.date()
    if kind is Kind.TIME:
        return moment.time()
    return moment.replace(tzinfo=UTC) if kind is Kind.TIMESTAMP_TZ else moment


# ---------------------------------------------------------------- writing


def format_column(values: pa.Array, kind: Kind, pattern: str | None) -> pa.Array:
    """Dates, times or timestamps to text, by ``pattern`` or the type's usual one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    compiled = compile_pattern(pattern or DEFAULT_PATTERNS.get(kind, DEFAULT_PATTERNS[Kind.TIMESTAMP]))
    if pa.types.is_time(values.type):
        values = pc.cast(pc.cast(values, pa.time64("us")), pa.int64()).cast(pa.timestamp("us"))
    elif pa.types.is_date(values.type) and compiled.text == DEFAULT_PATTERNS[Kind.DATE]:
        return pc.cast(values, pa.string())
    values = pc.cast(values, pa.timestamp("us"), safe=False)
    if any(not _fixed(token) for token in compiled.tokens):
        texts = [None if value is None else format_one(value, compiled) for value in values.to_pylist()]
        return pa.array(texts, pa.string())
    seconds = pc.cast(pc.floor_temporal(values, unit="second"), pa.timestamp("s"))
    iso = _ISO.fullmatch(compiled.text)
    if iso is None:
        return _strftime(values, seconds, compiled)
    text = pc.cast(values if iso["micros"] else seconds, pa.string())
    separator = iso["separator"].strip("'")
    text = text if separator == " " else pc.utf8_replace_slice(text, 10, 11, separator)
    return pc.binary_join_element_wise(text, "Z", "") if iso["zone"] else text


_ISO = re.compile(r"yyyy-MM-dd(?P<separator> |'T')HH:mm:ss(?P<micros>\.SSSSSS)?(?P<zone>'Z')?")
"""Patterns that Arrow writes by itself, far faster than by directives."""


def _fixed(token: Token) -> bool:
    return not token.part or token.width == 2 or token.part in ("year", "fraction", "half")


def _strftime(values: pa.Array, seconds: pa.Array, pattern: Pattern) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    pieces: list[Any] = []
    directives = ""
    for token in pattern.tokens:
        if token.part == "fraction":
            pieces.append(pc.strftime(seconds, directives) if directives else "")
            micros = pc.cast(pc.add(pc.multiply(pc.millisecond(values), 1000), pc.microsecond(values)), pa.string())
            digits = pc.utf8_rpad(pc.utf8_lpad(micros, 6, "0"), max(token.width, 6), "0")
            pieces.append(pc.utf8_slice_codeunits(digits, 0, token.width))
            directives = ""
        elif token.part == "year" and token.width == 2:
            directives += "%y"
        else:
            directives += _DIRECTIVE[token.part] if token.part else token.text.replace("%", "%%")
    if directives:
        pieces.append(pc.strftime(seconds, directives))
    return pieces[0] if len(pieces) == 1 else pc.binary_join_element_wise(*pieces, "")


def format_one(value: datetime | date | time, pattern: Pattern) -> str:
    """One date, time or timestamp as text."""
    found = {part: getattr(value, part, 0) for part in ("year", "month", "day", "hour", "minute", "second")}
    found["hour12"] = found["hour"] % 12 or 12
    texts = []
    for token in pattern.tokens:
        if not token.part:
            texts.append(token.text)
        elif token.part == "half":
            texts.append("PM" if found["hour"] >= 12 else "AM")
        elif token.part == "fraction":
            texts.append(f"{getattr(value, 'microsecond', 0):06d}".ljust(token.width, "0")[: token.width])
        elif token.part == "year" and token.width == 2:
            texts.append(f"{found['year'] % 100:02d}")
        else:
            texts.append(str(found[token.part]).zfill(4 if token.part == "year" else token.width))
    return "".join(texts)
