"""Parses types in the spelling of job files. Names ignore case."""

from __future__ import annotations

import difflib

from seatunnel_py.api.types.data_type import (
    NANOSECONDS,
    NUMBER,
    NUMBER_TEXT,
    DataType,
    Kind,
    array,
    decimal,
    map_of,
    row,
)

_ALIASES = {
    "byte": Kind.TINYINT,
    "short": Kind.SMALLINT,
    "integer": Kind.INT,
    "long": Kind.BIGINT,
    "bool": Kind.BOOLEAN,
    "varchar": Kind.STRING,
    "text": Kind.STRING,
    "json": Kind.STRING,  # kept as its text
    "binary": Kind.BYTES,
    "datetime": Kind.TIMESTAMP,
    "timestamptz": Kind.TIMESTAMP_TZ,
    "void": Kind.NULL,
}


def parse_type(text: str) -> DataType:
    """Read a type as a job file writes it. Raises ValueError that names the nearest valid type."""
    parser = _TypeParser(text)
    dtype = parser.type()
    parser.end()
    return dtype


class _TypeParser:
    """Recursive-descent parser of types."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def type(self) -> DataType:
        self._blanks()
        if self._peek() == "{":
            return self._row()
        is_quoted = self._peek() in ("'", '"')
        name = self._name()
        if is_quoted and not name.isalnum():
            return parse_type(name)
        if name.lower() == NUMBER_TEXT:
            return NUMBER
        kind = _kind(name, self.text)
        match kind:
            case Kind.DECIMAL:
                return self._decimal()
            case Kind.ARRAY:
                self._take("<")
                element = self.type()
                self._take(">")
                return array(element)
            case Kind.MAP:
                self._take("<")
                key = self.type()
                self._take(",")
                value = self.type()
                self._take(">")
                return map_of(key, value)
            case Kind.ROW:
                raise ValueError(f"{self.text!r}: write a nested row as {{field = type, …}}")
            case Kind.TIME | Kind.TIMESTAMP | Kind.TIMESTAMP_TZ:
                return self._temporal(kind)
            case _:
                return DataType(kind)

    def _temporal(self, kind: Kind) -> DataType:
        """Parse the digits of a second: up to six mean microseconds, seven to nine mean nanoseconds."""
        self._blanks()
        if self._peek() != "(":
            return DataType(kind)
        self._take("(")
        digits = self._number()
        self._take(")")
        if digits > 9:
            raise ValueError(f"{self.text!r}: a second has at most 9 digits after the point")
        return DataType(kind, unit=NANOSECONDS if digits > 6 else "")

    def _decimal(self) -> DataType:
        self._blanks()
        if self._peek() != "(":
            raise ValueError(f"{self.text!r}: decimal needs precision and scale, such as decimal(10, 2)")
        self._take("(")
        precision = self._number()
        self._take(",")
        scale = self._number()
        self._take(")")
        return decimal(precision, scale)

    def _row(self) -> DataType:
        self._take("{")
        fields: list[tuple[str, DataType]] = []
        while True:
            self._blanks()
            if self._peek() == "}":
                break
            name = self._name()
            self._blanks()
            self._take("=" if self._peek() == "=" else ":")
            fields.append((name, self.type()))
            self._blanks()
            if self._peek() == ",":
                self._take(",")
        self._take("}")
        return row(tuple(fields))

    def end(self) -> None:
        self._blanks()
        if self.at != len(self.text):
            raise ValueError(f"{self.text!r}: unexpected {self.text[self.at :]!r} after the type")

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _blanks(self) -> None:
        while self._peek().isspace():
            self.at += 1

    def _take(self, wanted: str) -> None:
        self._blanks()
        if self._peek() != wanted:
            found = repr(self._peek()) if self._peek() else "the end"
            raise ValueError(f"{self.text!r}: expected {wanted!r}, found {found}")
        self.at += 1

    def _name(self) -> str:
        self._blanks()
        quote = self._peek()
        if quote and quote in "\"'":
            closing = self.text.find(quote, self.at + 1)
            if closing < 0:
                raise ValueError(f"{self.text!r}: a quote is not closed")
            name, self.at = self.text[self.at + 1 : closing], closing + 1
            return name
        start = self.at
        while self._peek() and (self._peek().isalnum() or self._peek() in "_-."):
            self.at += 1
        if start == self.at:
            raise ValueError(f"{self.text!r}: a type name is missing")
        return self.text[start : self.at]

    def _number(self) -> int:
        self._blanks()
        start = self.at
        while self._peek().isdigit():
            self.at += 1
        digits = self.text[start : self.at]
        if not digits or len(digits) > 3:
            raise ValueError(f"{self.text!r}: a number is missing or too large")
        return int(digits)


def _kind(name: str, text: str) -> Kind:
    lowered = name.lower()
    if lowered in _ALIASES:
        return _ALIASES[lowered]
    try:
        return Kind(lowered)
    except ValueError:
        near = difflib.get_close_matches(lowered, [*Kind, *_ALIASES, NUMBER_TEXT], n=1)
        hint = f"; did you mean {str(near[0])!r}?" if near else ""
        raise ValueError(f"{text!r}: unknown type {name!r}{hint}") from None
