"""Finds regular expressions of job files whose matching time is not bounded.

A backtracking engine needs exponential time if a repetition contains another and both can match the same text
(``(a+)+$``). Rules. (1) A pattern without such nesting runs in Python, in bounded time. (2) A pattern with it runs in
RE2 (Arrow's), in linear time, if it means the same there. (3) A pattern with it that RE2 does not support (lookaround,
back references) is refused. ``java_regex.py`` chooses the engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from re import _constants as code  # type: ignore[attr-defined]  # the parser's own words
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MANY = 8
"""A bounded repetition of so many times or more counts as unbounded."""

EXPLOSIVE_PATTERN = (
    "it may take time without end: write it without a repetition inside a repetition, or with a separator between"
)
_CATEGORIES = {
    code.CATEGORY_DIGIT: r"\d", code.CATEGORY_NOT_DIGIT: r"\D", code.CATEGORY_SPACE: r"\s",
    code.CATEGORY_NOT_SPACE: r"\S", code.CATEGORY_WORD: r"\w", code.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip
Items = Iterable[tuple[Any, Any]]


@lru_cache(maxsize=1024)
def is_explosive(pattern: str) -> bool:
    """Return True if a backtracking engine may need exponential time. Raises re.error."""
    return any(_ambiguous(body) for body in _repeated(parser.parse(pattern)))


# ---------------------------------------------------------------- what is ambiguous


def _repeated(items: Items) -> Iterable[Any]:
    """Bodies of all repetitions, at any depth."""
    for op, value in items:
        if op in (code.MAX_REPEAT, code.MIN_REPEAT):
            if value[1] == code.MAXREPEAT or value[1] >= MANY:
                yield value[2]
            yield from _repeated(value[2])
        else:
            for inner in _inner(op, value):
                yield from _repeated(inner)


def _inner(op: Any, value: Any) -> Iterable[Any]:
    if op is code.SUBPATTERN:
        return (value[3],)
    if op is code.BRANCH:
        return tuple(value[1])
    if op in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
        return (value[2],)
    if op in (code.ASSERT, code.ASSERT_NOT):
        return (value[1],)
    return (value,) if op is code.ATOMIC_GROUP else ()


def _flat(items: Items) -> list[tuple[Any, Any]]:
    """Replace groups in a sequence by their content."""
    found: list[tuple[Any, Any]] = []
    for op, value in items:
        found += _flat(value[3]) if op is code.SUBPATTERN else [(op, value)]
    return found


def _ambiguous(body: Items) -> bool:
    """Return True if repetitions of this body can match one text in several ways: its length varies or it branches,
    and no required part separates the repetitions."""
    items = _flat(body)
    varying = [item for item in items if _varies(item)]
    if not varying:
        return False
    fixed = [chr(value) for op, value in items if op is code.LITERAL]
    return not any(not any(_takes(item, letter) for item in varying) for letter in fixed)


def _varies(item: tuple[Any, Any]) -> bool:
    op, value = item
    if op is code.BRANCH:
        first = [next(iter(_flat(branch)), None) for branch in value[1]]
        letters = [one[1] for one in first if one is not None and one[0] is code.LITERAL]
        return len(set(letters)) < len(value[1]) or any(_varies(one) for branch in value[1] for one in _flat(branch))
    if op in (code.MAX_REPEAT, code.MIN_REPEAT):
        return value[0] != value[1] or any(_varies(one) for one in _flat(value[2]))
    return op is code.GROUPREF


def _takes(item: tuple[Any, Any], letter: str) -> bool:
    """Return True if a part can match the letter, or if that is unknown."""
    op, value = item
    if op is code.LITERAL:
        return chr(value) == letter
    if op is code.NOT_LITERAL:
        return chr(value) != letter
    if op is code.IN:
        negated = any(kind is code.NEGATE for kind, _ in value)
        return any(_holds(kind, inside, letter) for kind, inside in value) is not negated
    inner = list(_inner(op, value))
    return not inner or any(_takes(one, letter) for part in inner for one in _flat(part))


def _holds(kind: Any, inside: Any, letter: str) -> bool:
    if kind is code.LITERAL:
        return chr(inside) == letter
    if kind is code.RANGE:
        return bool(inside[0] <= ord(letter) <= inside[1])
    return kind is code.CATEGORY and re.fullmatch(_CATEGORIES.get(inside, "."), letter) is not None
