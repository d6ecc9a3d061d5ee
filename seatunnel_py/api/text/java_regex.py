r"""Runs Java's regular expressions from job files on RE2 (Arrow, whole columns) or Python (value by value).

Every pattern of a job file is compiled here, for names (``NamePattern``) or for values (``JavaPattern``), so it means
the same in every option. A pattern is translated to Python's syntax, which differs from Java's in few points: named
groups, quoting by ``\\Q…\\E``, ``\\p{Alpha}`` and the like, ``\\h``, ``\\R``, ``\\z``.

RE2 is ten times faster. RE2 is used if the pattern needs no feature that RE2 lacks (lookaround, back references,
possessive quantifiers), cannot match the empty text, and no value contains a line break (RE2's ``.`` and ``$`` differ).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from seatunnel_py.api.text.linear_regex import EXPLOSIVE_PATTERN, is_explosive
from seatunnel_py.errors import FatalError

if TYPE_CHECKING:
    import pyarrow as pa

POSIX = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": "\\x00-\\x7F",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": "!-/:-@\\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": " \\t",
    "Cntrl": "\\x00-\\x1F\\x7F",
    "XDigit": "0-9a-fA-F",
    "Space": " \\t\\n\\x0B\\f\\r",
}
"""Java's ASCII classes, as Python writes them between brackets."""

_HAN = "\\u2E80-\\u2FDF\\u3005\\u3007\\u3021-\\u3029\\u3038-\\u303B\\u3400-\\u4DBF\\u4E00-\\u9FFF\\uF900-\\uFAFF"
UNICODE = {"IsHan": _HAN, "script=Han": _HAN, "InCJKUnifiedIdeographs": "\\u4E00-\\u9FFF"}
"""The Unicode classes that job files use; others are refused by name."""

_CLASSES = tuple("wWdDsShHvVpP")
"""Characters after the backslash of a character class."""

_NOT_IN_RE2 = re.compile(r"\(\?(?:=|!|<=|<!|>)|\\[1-9kGZ]|[*+?}]\+")
_LITERAL = re.compile(r"(?:[^\\.\[\]{}()*+?^$|]|\\[^0-9a-zA-Z])+")
_BLANKS = {r"\s": r"\t-\r ", r"\S": r"^\t-\r "}
"""Replacements for ``\\s`` and ``\\S``: RE2's lack the vertical tab, which Java and Python include."""
_ESCAPE = re.compile(r"\\(.)|(\[)|(\])", re.DOTALL)
_REFERENCE = re.compile(r"\\(.)|\$(?:\{([a-zA-Z][a-zA-Z0-9]*)\}|(\d))(\d*)|([\\$])", re.DOTALL)


class JavaPattern:
    """A pattern compiled for both engines. Raises ValueError that names ``option`` and the fault of the pattern."""

    def __init__(self, pattern: str, option: str) -> None:
        self.pattern = pattern
        try:
            self.python = _compiled(pattern)
            self._explosive = is_explosive(self.python.pattern)
        except (re.error, ValueError) as error:
            raise ValueError(f"{option}: {pattern!r} is not a regular expression that can be used: {error}") from None

        if self._explosive and (_for_re2(self.python.pattern) is None or self.python.match("") is not None):
            raise ValueError(f"{option}: {pattern!r}: {EXPLOSIVE_PATTERN}")

    @property
    def bounded(self) -> re.Pattern[str]:
        """The pattern for Python, if its matching time is bounded. Raises FatalError if it is not."""
        if self._explosive:
            raise FatalError(
                f"the pattern {self.pattern!r} cannot be used on texts with line breaks: {EXPLOSIVE_PATTERN}"
            )
        return self.python

    def require_bounded(self, option: str) -> re.Pattern[str]:
        """Like ``bounded``, but at planning: raises ValueError."""
        if self._explosive:
            raise ValueError(f"{option}: {self.pattern!r}: {EXPLOSIVE_PATTERN}")
        return self.python

    def __reduce__(self) -> tuple[type[JavaPattern], tuple[str, str]]:
        return JavaPattern, (self.pattern, "pattern")

    @property
    def literal(self) -> str | None:
        """The text that the pattern matches, if it matches only that."""
        if not _LITERAL.fullmatch(self.pattern):
            return None
        return re.sub(r"\\(.)", r"\1", self.pattern, flags=re.DOTALL)

    def re2(self, values: pa.StringArray) -> str | None:
        """The pattern for RE2 if RE2 finds the same matches as Java on these values; else None."""
        import pyarrow.compute as pc

        text = _for_re2(self.python.pattern)
        if text is None or self.python.match("") is not None:
            return None
        broken = pc.any(pc.match_substring_regex(values, "[\n\r\u0085\u2028\u2029]"))
        return None if broken.as_py() else text


class NamePattern:
    """A pattern for whole names. Raises ValueError with the fault of the pattern."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        try:
            self._python = _compiled(pattern)
            explosive = is_explosive(self._python.pattern)
        except (re.error, ValueError) as error:
            raise ValueError(f"{pattern!r} is not a regular expression that can be used: {error}") from None
        self._re2 = _whole_for_re2(self._python.pattern) if explosive else None
        if explosive and self._re2 is None:
            raise ValueError(f"{pattern!r}: {EXPLOSIVE_PATTERN}")

    def fullmatch(self, name: str) -> bool:
        """Return True if the pattern matches the whole name."""
        if self._re2 is None:
            return self._python.fullmatch(name) is not None
        import pyarrow as pa
        import pyarrow.compute as pc

        return bool(pc.match_substring_regex(pa.array([name]), self._re2)[0].as_py())

    def nearest(self, names: Sequence[str]) -> str:
        """The name that looks most like the pattern, for messages; ``names`` is not empty."""
        return difflib.get_close_matches(self.pattern.replace("\\", ""), names, 1, 0.0)[0]


@lru_cache(maxsize=1024)
def name_pattern(pattern: str) -> NamePattern:
    """Compile a pattern of a job file for names. ValueError: it has a fault, or its matching time is not bounded."""
    return NamePattern(pattern)


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    # Java's \d, \w, \s and its case-insensitive matching use ASCII only by default.
    return re.compile(_translated(pattern), re.ASCII)


@lru_cache(maxsize=256)
def _for_re2(pattern: str) -> str | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    if _NOT_IN_RE2.search(pattern):
        return None
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return pattern


def _whole_for_re2(pattern: str) -> str | None:
    """The pattern for RE2, for whole names; None if RE2 does not support it."""
    if r"\b" in pattern or r"\B" in pattern:
        return None
    text = _with_blanks(pattern)
    return None if text is None else _for_re2(rf"\A(?:{text})\z")


def _with_blanks(pattern: str) -> str | None:
    """Write ``\\s`` and ``\\S`` out as character ranges; None if a class contains ``\\S``."""
    parts, at, within = [], 0, False
    for found in _ESCAPE.finditer(pattern):
        blanks = _BLANKS.get(found[0])
        if within and found[0] == r"\S":
            return None
        within = (within or found[2] is not None) and found[3] is None
        parts += [pattern[at : found.start()], found[0] if blanks is None else blanks if within else f"[{blanks}]"]
        at = found.end()
    return "".join([*parts, pattern[at:]])


def _translated(pattern: str) -> str:
    """Translate Java's syntax to Python's."""
    parts: list[str] = []
    at, depth = 0, 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == "\\":
            class_before = depth > 0 and pattern[at + 1 : at + 2] in _CLASSES
            text, at = _escape(pattern, at, within=depth > 0)
            parts.append(text)
            if class_before and pattern.startswith("-", at):
                parts.append("\\-")  # a range cannot begin with a class: [\w-.] contains the hyphen itself
                at += 1
            continue
        if letter == "[":
            if depth:
                raise ValueError("a class within a class, such as [a-z[A-Z]], is not supported")
            depth += 1
            if pattern[at + 1 : at + 2] == "^":
                parts.append("[")
                at += 1
                letter = "^"
        elif letter == "]" and depth:
            depth -= 1
        elif depth and pattern.startswith("&&", at):
            raise ValueError("an intersection of classes (&&) is not supported")
        elif pattern.startswith("(?<", at) and pattern[at + 3 : at + 4] not in ("=", "!") and not depth:
            parts.append("(?P<")
            at += 3
            continue
        parts.append(letter)
        at += 1
    return "".join(parts)


def _escape(pattern: str, at: int, *, within: bool) -> tuple[str, int]:
    """The escape at ``at`` in Python's syntax, and the position after it."""
    letter = pattern[at + 1 : at + 2]
    match letter:
        case "":
            raise ValueError("it ends with a single backslash")
        case "Q":
            end = pattern.find("\\E", at)
            end = len(pattern) if end < 0 else end
            return re.escape(pattern[at + 2 : end]), min(end + 2, len(pattern))
        case "p" | "P":
            return _property(pattern, at, within=within)
        case "h":
            return (" \\t\\xA0" if within else "[ \\t\\xA0\\u1680\\u180e\\u2000-\\u200a\\u202f\\u205f\\u3000]"), at + 2
        case "R":
            return "(?:\\r\\n|[\\n\\x0B\\f\\r\\x85\\u2028\\u2029])", at + 2
        case "z":
            return "\\Z", at + 2
        case "Z":
            return "(?=\\n?\\Z)", at + 2
        case "e":
            return "\\x1B", at + 2
        case "k":
            end = pattern.find(">", at)
            return f"(?P={pattern[at + 3 : end]})", end + 1
        case _:
            return "\\" + letter, at + 2


def _property(pattern: str, at: int, *, within: bool) -> tuple[str, int]:
    end = pattern.find("}", at)
    name = pattern[at + 3 : end] if pattern[at + 2 : at + 3] == "{" and end > 0 else pattern[at + 2 : at + 3]
    behind = end + 1 if pattern[at + 2 : at + 3] == "{" else at + 3
    inside = POSIX.get(name) or UNICODE.get(name)
    negated = pattern[at + 1] == "P"
    if inside is None or (negated and within):
        raise ValueError(f"the character class \\{pattern[at + 1]}{{{name}}} is not supported here")
    if within:
        return inside, behind
    return f"[{'^' if negated else ''}{inside}]", behind


# ---------------------------------------------------------------- replacing


def java_replacement(text: str, pattern: re.Pattern[str], option: str) -> list[str | int]:
    """Parse a Java replacement into pieces: text, and group numbers. Raises ValueError for a missing group."""
    pieces: list[str | int] = []
    at = 0
    for found in _REFERENCE.finditer(text):
        pieces.append(text[at : found.start()])
        at = found.end()
        escaped, name, digit, more, alone = found.groups()
        if escaped is not None:
            pieces.append(escaped)
        elif alone is not None:
            raise ValueError(f"{option}: {text!r}: write \\{alone} for the character {alone} itself")
        elif name is not None:
            if name not in pattern.groupindex:
                raise ValueError(f"{option}: {text!r}: the pattern has no group {name!r}")
            pieces += [pattern.groupindex[name], more]
        else:
            number, rest = _group_number(digit, more, pattern.groups)
            if number > pattern.groups:
                raise ValueError(f"{option}: {text!r}: the pattern has {pattern.groups} groups, not {number}")
            pieces += [number, rest]
    pieces.append(text[at:])
    return [piece for piece in pieces if piece != ""]


def _group_number(digit: str, more: str, groups: int) -> tuple[int, str]:
    """Parse as many digits as form the number of an existing group; the other digits are text."""
    taken = digit
    while more and int(taken + more[0]) <= groups:
        taken, more = taken + more[0], more[1:]
    return int(taken), more


def re2_rewrite(pieces: list[str | int]) -> str | None:
    """The replacement in RE2's syntax, which supports nine groups."""
    if any(isinstance(piece, int) and piece > 9 for piece in pieces):
        return None
    return "".join(f"\\{piece}" if isinstance(piece, int) else piece.replace("\\", "\\\\") for piece in pieces)


def filled(pieces: list[str | int], match: re.Match[str]) -> str:
    """The replacement for one match; an unmatched group is empty."""
    return "".join((match[piece] or "") if isinstance(piece, int) else piece for piece in pieces)
