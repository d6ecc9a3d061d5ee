"""Refuses hostile text before a parser sees it, in time linear in its length.

The parser recurses once per level of nesting and copies a text or a run of blanks once per character. A number of five
thousand digits is slow to read and never meant. Text that passes here parses in bounded time and stack.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from seatunnel_py.config.tree import SourcePlace
from seatunnel_py.errors import JobFileError, Problem


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the content of a job file; the defaults are some hundred times the largest values found in use."""

    bytes: int = 4 * 1024 * 1024
    depth: int = 40
    entries: int = 50_000
    digits: int = 64
    blanks: int = 2_000
    text: int = 100_000


DEFAULT_LIMITS = Limits()

# Possessive quantifiers, and strings that need not be closed: the scan reads each character once.
_TOKEN = re.compile(
    r'(?P<triple>"""(?s:.*?)(?:"""+|\Z))'
    r'|"(?:[^"\\\n]++|\\.)*+(?:"|(?P<torn>))'
    r"|(?:\#|//)[^\n]*+"
    r"|(?P<open>[{\[])"
    r"|(?P<close>[}\]])"
    r"|(?P<entry>[=:,])"
    r"|(?P<digits>[0-9][0-9.]*+)"
    r"|(?P<blanks>[^\S\n]{64,}+)"
    r'|[^"\#/{}\[\]=:,0-9\s]++'
)
_CLOSING = {"{": "}", "[": "]"}


def decode(data: bytes, file: str) -> str:
    """Text of a job file; a byte-order mark is accepted and dropped."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = len(before.rpartition(b"\n")[2].decode("utf-8", "replace")) + 1
        problem = Problem("not UTF-8 text", file, line, column, remedy="Save the file as UTF-8.")
        raise JobFileError((problem,)) from None


def check(text: str, file: str, limits: Limits = DEFAULT_LIMITS) -> str:
    """Return the text without its byte-order mark, or raise ``JobFileError`` naming the limit it breaks."""
    text = text.removeprefix("\ufeff")
    if len(text) > limits.bytes or len(text.encode("utf-8", "replace")) > limits.bytes:
        message = f"larger than {limits.bytes} bytes"
        raise JobFileError((Problem(message, file, remedy="Split the job, or generate fewer keys."),))
    if (bad := re.search("[\0\ud800-\udfff]", text)) is not None:
        raise _place(text, bad.start(), file).error("a character that no text file holds (NUL or a lone surrogate)")
    entries = 0
    brackets = _Brackets(text, file)
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        brackets.see(match)
        if kind in ("open", "entry"):
            entries += 1
        elif kind == "digits" and match.end() - match.start() > limits.digits:
            raise _place(text, match.start(), file).error(
                f"a number of more than {limits.digits} digits", remedy="Write it in quotes if it is text."
            )
        elif kind == "blanks" and match.end() - match.start() > limits.blanks:
            raise _place(text, match.start(), file).error(f"more than {limits.blanks} blanks in a row")
        elif match.end() - match.start() > limits.text and text[match.start()] not in "#/":
            raise _place(text, match.start(), file).error(f"a text of more than {limits.text} characters")
        if len(brackets.opened) > limits.depth:
            raise _place(text, match.start(), file).error(f"nested deeper than {limits.depth} levels")
        if entries > limits.entries:
            raise _place(text, match.start(), file).error(f"more than {limits.entries} entries")
    brackets.end()
    return text


class _Brackets:
    """The open brackets. After an unclosed string brackets are not judged, for they may belong to it: the parser
    reports where the string starts."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.opened: list[int] = []
        self.torn = False

    def see(self, token: re.Match[str]) -> None:
        kind = token.lastgroup
        if kind == "open":
            self.opened.append(token.start())
        elif kind == "close":
            self._close(token)
        self.torn = self.torn or kind == "torn"

    def _close(self, token: re.Match[str]) -> None:
        if not self.opened:
            # The parser stops here and silently ignores the rest.
            raise _place(self.text, token.start(), self.file).error("this bracket closes nothing")
        opening = self.opened.pop()
        if _CLOSING[self.text[opening]] != token.group() and not self.torn:
            there = _place(self.text, opening, self.file)
            other = f"the {self.text[opening]} of line {there.line}, column {there.column}"
            raise _place(self.text, token.start(), self.file).error(f"this {token.group()} does not close {other}")

    def end(self) -> None:
        if self.opened and not self.torn:
            # The parser would name the end of the file.
            raise _place(self.text, self.opened[-1], self.file).error("this bracket is never closed")


def _place(text: str, at: int, file: str) -> SourcePlace:
    return SourcePlace(file, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
