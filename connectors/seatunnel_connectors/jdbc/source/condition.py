"""The text of ``where_condition``: one condition, which stands in parentheses within statements of ours.

Whatever else a SELECT may hold behind it would end up inside of the parentheses, where the server does not understand
it or, worse, understands something else. So it is refused, with what to do instead. Databases disagree on whether a
backslash keeps a quote from closing: a text is refused where it is wrong both ways.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORD = re.compile(r"\s*where\b\s*", re.IGNORECASE)
_ESCAPES = (("", ""), (r"\\.|", r"\\"))  # none, and any character behind a backslash
_TOKENS = (
    r"(?P<comment>--[^\n]*|/\*.*?\*/)"
    r"|(?P<quoted>'(?:{0}''|[^'{2}])*'|\"(?:{0}\"\"|[^\"{2}])*\"|`(?:``|[^`])*`|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)"
    r"|(?P<open>/\*|['\"`])|(?P<named>\.\s*\w+)|(?P<clause>\b(?:{1})\b)|(?P<sign>[();])|\w+|."
)
_CLAUSES = (
    r"(?:order|group)\s+by|limit\s+(?:\d+|all)|limit(?=\s*\()|offset\s+\d+|fetch\s+(?:first|next)|having"
    r"|union|intersect|except|for\s+(?:no\s+key\s+)?(?:update|share|key)"
)
_WAYS = tuple(
    re.compile(
        _TOKENS.replace("{0}", escaped).replace("{1}", _CLAUSES).replace("{2}", escape), re.IGNORECASE | re.DOTALL
    )
    for escaped, escape in _ESCAPES
)
QUERY = "read the rows by `query`, which may be any SELECT"


def condition_of(text: str) -> str:
    """The condition without the word, and without a semicolon that ends it. ValueError says why it is none."""
    word = _WORD.match(text)
    if word is None:
        if text.strip():
            raise ValueError("must begin with 'where'")
        raise ValueError("is empty; leave it out to read all rows")
    problems = []
    for way in _WAYS:
        try:
            return _condition(text[word.end() :], way)
        except ValueError as error:
            problems.append(error)
    raise problems[0]


def _condition(text: str, way: re.Pattern[str]) -> str:
    """``text`` up to the semicolon that ends it; the tokens behind it may only be comments."""
    depth, end, said = 0, len(text), False
    for kind, token, at in _tokens(text, way):
        if kind == "comment" or token.isspace():
            continue
        if kind == "open":
            raise ValueError(f"has a {token} that nothing closes")
        if end < len(text):
            raise ValueError(f"holds a second statement behind its semicolon: {text[at:].strip()!r}; " + QUERY)
        if kind == "clause" and not depth:
            raise ValueError(f"holds {' '.join(token.upper().split())}, which is no part of a condition; " + QUERY)
        if token == ";" and depth == 0:
            end = at
            continue
        depth += (token == "(") - (token == ")")
        if depth < 0:
            raise ValueError("has a closing parenthesis that nothing opens")
        said = True
    if depth:
        raise ValueError("has a parenthesis that nothing closes")
    if not said:
        raise ValueError("is empty behind 'where'; leave it out to read all rows")
    return text[:end].strip()


def _tokens(text: str, way: re.Pattern[str]) -> Iterator[tuple[str, str, int]]:
    return ((match.lastgroup or "", match[0], match.start()) for match in way.finditer(text))
