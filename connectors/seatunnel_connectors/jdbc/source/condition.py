"""Checks the text of ``where_condition``: it must be one condition, since generated statements put it in parentheses.

Other clauses of a SELECT would end up inside the parentheses, where the server rejects them or, worse, interprets them
differently. Such conditions are refused, with a remedy. Databases disagree on whether a backslash escapes a quote: a
text is refused if it is wrong in both readings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

_WORD = re.compile(r"\s*where\b\s*", re.IGNORECASE)
_ESCAPES = (("", ""), (r"\\.|", r"\\"))  # none, or a backslash with its next character
_TOKENS = (
    r"(?P<comment>--[^\n]*|/\*.*?\*/)"
    r"|(?P<quoted>'(?:{0}''|[^'{2}])*'|\"(?:{0}\"\"|[^\"{2}])*\"|`(?:``|[^`])*`|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)"
    r"|(?P<open>/\*|['\"`])|(?P<named>\.\s*\w+)|(?P<clause>\b(?:{1})\b)|(?P<sign>[();])|\w+|."
)
_CLAUSES = (
    r"(?:order|group)\s+by|limit\s+(?:\d+|all)|limit(?=\s*\()|offset\s+\d+|fetch\s+(?:first|next)|having"
    r"|union|intersect|except|for\s+(?:no\s+key\s+)?(?:update|share|key)"
)
QUERY = "read the rows by `query`, which may be any SELECT"


@cache
def _ways() -> tuple[re.Pattern[str], ...]:
    """Compiled for the first condition: most jobs have none."""
    texts = [_TOKENS.replace("{0}", escaped).replace("{1}", _CLAUSES).replace("{2}", end) for escaped, end in _ESCAPES]
    return tuple(re.compile(text, re.IGNORECASE | re.DOTALL) for text in texts)


def condition_of(text: str) -> str:
    """The condition without the word where, and without a final semicolon. Raises ValueError with the reason if it is
    not a condition."""
    word = _WORD.match(text)
    if word is None:
        if text.strip():
            raise ValueError("must begin with 'where'")
        raise ValueError("is empty; leave it out to read all rows")
    problems = []
    for way in _ways():
        try:
            return _condition(text[word.end() :], way)
        except ValueError as error:
            problems.append(error)
    raise problems[0]


def _condition(text: str, way: re.Pattern[str]) -> str:
    """``text`` up to its final semicolon; only comments may follow."""
    depth, end, said = 0, len(text), False
    for kind, token, at in _tokens(text, way):
        if kind == "comment" or token.isspace():
            continue
        if kind == "open":
            raise ValueError(f"has a {token} that nothing closes")
        if end < len(text):
            raise ValueError(f"contains a second statement after its semicolon: {text[at:].strip()!r}; " + QUERY)
        if kind == "clause" and not depth:
            raise ValueError(f"holds {' '.join(token.upper().split())}, which is not part of a condition; " + QUERY)
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
        raise ValueError("is empty after 'where'; omit it to read all rows")
    return text[:end].strip()


def _tokens(text: str, way: re.Pattern[str]) -> Iterator[tuple[str, str, int]]:
    return ((match.lastgroup or "", match[0], match.start()) for match in way.finditer(text))
