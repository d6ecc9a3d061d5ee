"""Cuts statements of MySQL and MariaDB into tokens: comments go, and executable ones become part of the statement."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from seatunnel_connectors.mysql_cdc.failures import UnreadableStatementError

_EXECUTABLE = re.compile(r"/\*(M?)!(\d{5,6})?")
_MYSQL_ONLY = range(50700, 100000)
"""Versions in executable comments that MariaDB leaves to MySQL."""
_WORD = re.compile(r"[^\W\d][\w$]*|\d+[\w$]*[^\W\d][\w$]*")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\.\d+")
_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}


class TokenKind(Enum):
    """``NAME`` stands in quotes; a ``WORD`` may be a keyword or a name."""

    WORD = auto()
    NAME = auto()
    TEXT = auto()
    NUMBER = auto()
    SYMBOL = auto()


@dataclass(frozen=True, slots=True)
class SqlToken:
    """``value`` is without quotes."""

    kind: TokenKind
    value: str

    def has(self, *words: str) -> bool:
        """True for one of these keywords or symbols, which are given in capitals."""
        return self.kind in (TokenKind.WORD, TokenKind.SYMBOL) and self.value.upper() in words

    @property
    def is_name(self) -> bool:
        return self.kind in (TokenKind.WORD, TokenKind.NAME)


@dataclass(frozen=True, slots=True)
class Spelling:
    """How statements are to be read. ``version`` is the server's, as in executable comments: 80036, 101119."""

    mariadb: bool
    version: int
    ansi_quotes: bool = False
    backslash_escapes: bool = True


def tokens_of(statement: str, spelling: Spelling) -> list[SqlToken]:
    """The tokens of a statement. Raises UnreadableStatementError for quotes or comments without an end."""
    return list(_Tokenizer(statement, spelling).tokens())


class _Tokenizer:
    def __init__(self, text: str, spelling: Spelling) -> None:
        self.text = text
        self.spelling = spelling
        self.at = 0
        self.open_comments = 0

    def tokens(self) -> Iterator[SqlToken]:
        text = self.text
        while self.at < len(text):
            char = text[self.at]
            if char.isspace():
                self.at += 1
            elif self.open_comments and text.startswith("*/", self.at):
                self.at += 2
                self.open_comments -= 1
            elif char == "#" or (text.startswith("--", self.at) and text[self.at + 2 : self.at + 3].strip() == ""):
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end + 1
            elif text.startswith("/*", self.at):
                self._comment()
            else:
                yield self._token(char)

    def _comment(self) -> None:
        match = _EXECUTABLE.match(self.text, self.at)
        if match is not None and self._executes(bool(match[1]), int(match[2] or 0)):
            self.at = match.end()
            self.open_comments += 1
            return
        end = self.text.find("*/", self.at + 2)
        if end < 0:
            raise self._unreadable("a comment without an end")
        self.at = end + 2

    def _executes(self, mariadb_only: bool, version: int) -> bool:
        if mariadb_only and not self.spelling.mariadb:
            return False
        if self.spelling.mariadb and not mariadb_only and version in _MYSQL_ONLY:
            return False
        return version <= self.spelling.version

    def _token(self, char: str) -> SqlToken:
        if char == "`" or (char == '"' and self.spelling.ansi_quotes):
            return SqlToken(TokenKind.NAME, self._quoted(char, escapes=False))
        if char in "'\"":
            return SqlToken(TokenKind.TEXT, self._quoted(char, escapes=self.spelling.backslash_escapes))
        for pattern, kind in ((_WORD, TokenKind.WORD), (_NUMBER, TokenKind.NUMBER)):
            match = pattern.match(self.text, self.at)
            if match is not None:
                self.at = match.end()
                return SqlToken(kind, match[0])
        self.at += 1
        return SqlToken(TokenKind.SYMBOL, char)

    def _quoted(self, quote: str, *, escapes: bool) -> str:
        found: list[str] = []
        text, at = self.text, self.at + 1
        while at < len(text):
            char = text[at]
            if char == "\\" and escapes and at + 1 < len(text):
                found.append(_ESCAPES.get(text[at + 1], text[at + 1]))
                at += 2
            elif char != quote:
                found.append(char)
                at += 1
            elif text[at + 1 : at + 2] == quote:
                found.append(quote)
                at += 2
            else:
                self.at = at + 1
                return "".join(found)
        raise self._unreadable(f"a quote {quote} without an end")

    def _unreadable(self, what: str) -> UnreadableStatementError:
        return UnreadableStatementError(f"a statement of the log has {what}: {shown(self.text)}")


def shown(statement: str) -> str:
    """A statement for a message: in one line, and cut."""
    text = " ".join(statement.split())
    return text if len(text) <= 200 else text[:199] + "…"


class TokenReader:
    """A position in tokens."""

    __slots__ = ("at", "tokens")

    def __init__(self, tokens: Sequence[SqlToken]) -> None:
        self.tokens = tokens
        self.at = 0

    @property
    def token(self) -> SqlToken | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self) -> SqlToken:
        token = self.token
        if token is None:
            raise ValueError("it ends early")
        self.at += 1
        return token

    def accept(self, *words: str) -> bool:
        """Take one of these keywords or symbols if it is next."""
        token = self.token
        if token is None or not token.has(*words):
            return False
        self.at += 1
        return True

    def accept_all(self, *words: str) -> bool:
        """Take these keywords if they are next, in this order."""
        if not self.sees(*words):
            return False
        self.at += len(words)
        return True

    def sees(self, *words: str) -> bool:
        """True if these keywords are next, in this order."""
        there = self.tokens[self.at : self.at + len(words)]
        return len(there) == len(words) and all(token.has(word) for token, word in zip(there, words, strict=True))

    def expect(self, *words: str) -> None:
        if not self.accept(*words):
            raise ValueError(f"{words[0]} is missing before {self.token.value if self.token else 'the end'!r}")

    def name(self) -> str:
        token = self.take()
        if not token.is_name:
            raise ValueError(f"{token.value!r} stands in the place of a name")
        return token.value

    def group(self) -> list[SqlToken]:
        """The tokens inside of the parentheses that are next."""
        self.expect("(")
        start, depth = self.at, 1
        while depth:
            token = self.take()
            depth += token.has("(") - token.has(")")
        return list(self.tokens[start : self.at - 1])

    def until_comma(self) -> list[SqlToken]:
        """The tokens up to a comma outside of parentheses, which is taken as well, or to the end."""
        start, depth = self.at, 0
        while (token := self.token) is not None:
            if not depth and token.has(","):
                break
            depth += token.has("(") - token.has(")")
            self.at += 1
        found = list(self.tokens[start : self.at])
        self.at += self.token is not None
        return found


def listed(tokens: Sequence[SqlToken]) -> list[list[SqlToken]]:
    """Tokens cut at commas outside of parentheses."""
    reader = TokenReader(tokens)
    found = []
    while reader.token is not None:
        found.append(reader.until_comma())
    return found
