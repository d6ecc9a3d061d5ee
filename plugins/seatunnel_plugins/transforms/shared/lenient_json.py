"""Parses JSON as SeaTunnel does: strictly if possible, else with bare words and single quotes.

``{a: some words, 'b': [1, 2,]}`` is invalid JSON, but occurs often in job files and logs, and SeaTunnel reads it.
Numbers with a fraction are decimals, which keep their digits.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

from seatunnel_py.formats.json.values import members_once

DEPTH_MAX = 200  # of nested objects and arrays; far from the interpreter's own limit

_BLANKS = re.compile(r"\s*")
_BARE = re.compile(r"[^,:{}\[\]]+")
_BARE_VALUE = re.compile(r"[^,{}\[\]]+")
_QUOTED = {quote: re.compile(rf"{quote}((?:[^{quote}\\]|\\.)*){quote}", re.DOTALL) for quote in "'\""}
_WORDS = {"true": True, "false": False, "null": None}
_INTEGER = re.compile(r"-?\d{1,18}")


def parse_json(text: str | bytes) -> Any:
    """Parse the text. Raises ValueError with the position of the first fault."""
    try:
        return json.loads(text, parse_float=Decimal, object_pairs_hook=members_once)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        pass
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    parser = _Parser(text)
    value = parser.value(0)
    parser.blanks()
    if parser.at != len(text):
        raise ValueError(f"unexpected {text[parser.at]!r} at {parser.at}")
    return value


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def value(self, depth: int) -> Any:
        if depth > DEPTH_MAX:
            raise ValueError(f"nested more than {DEPTH_MAX} deep")
        match self._peek():
            case "{":
                return self._object(depth)
            case "[":
                return self._array(depth)
            case "'" | '"':
                return self._quoted()
            case _:
                return self._bare()

    def _object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.at += 1
        while self._peek() != "}":
            name = self._quoted() if self._peek() in "'\"" and self._peek() else self._take(_BARE).strip()
            if self._peek() != ":":
                raise ValueError(f"a colon is missing at {self.at}")
            self.at += 1
            value = self.value(depth + 1)
            if name in found:
                raise ValueError(f"the key {name!r} occurs twice in one object")
            found[name] = value
            self._comma("}")
        self.at += 1
        return found

    def _array(self, depth: int) -> list[Any]:
        found: list[Any] = []
        self.at += 1
        while self._peek() != "]":
            found.append(self.value(depth + 1))
            self._comma("]")
        self.at += 1
        return found

    def _comma(self, closing: str) -> None:
        if self._peek() == ",":
            self.at += 1
        elif self._peek() != closing:
            raise ValueError(f"a comma or {closing!r} is missing at {self.at}")

    def _quoted(self) -> str:
        quote = self.text[self.at]
        content = self._take(_QUOTED[quote], 1)
        if quote == "'":
            content = content.replace("\\'", "'").replace('"', '\\"')
        try:
            return str(json.loads(f'"{content}"', strict=False))
        except json.JSONDecodeError:
            return content

    def _bare(self) -> Any:
        text = self._take(_BARE_VALUE).strip()
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.fullmatch(text):
            return int(text)
        try:
            return json.loads(text, parse_constant=str, parse_float=Decimal)
        except json.JSONDecodeError:
            return text

    def _take(self, pattern: re.Pattern[str], group: int = 0) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise ValueError(f"a value is missing at {self.at}")
        self.at = found.end()
        return found[group]

    def _peek(self) -> str:
        self.blanks()
        return self.text[self.at : self.at + 1]

    def blanks(self) -> None:
        found = _BLANKS.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
