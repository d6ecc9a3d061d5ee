"""Compiles JSON paths, in the subset that job files use, and evaluates them on parsed values.

Own code rather than a library: the usual one builds an object for every node that it passes and is slower by an order
of magnitude, and its dialect differs from SeaTunnel's. Supported are ``$``, ``.name``, ``['name']``, ``[0]``, ``[-1]``,
``[1:3]``, ``[0,2]``, ``['a','b']``, ``.*``, ``[*]``, ``..name``, ``[?(@.x > 1 && @.y)]`` and ``.length()``.

A path that can match one place only is *definite*: it returns that value, and a missing value is an error. Any other
path returns the list of its matches.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

MISSING = object()

Step: TypeAlias = "Callable[[Any], Iterable[Any]]"


class NamedRow(dict[str, Any]):
    """A nested row: SeaTunnel accesses its values by number, here also by name."""


class PathNotFoundError(ValueError):
    """A definite path has no match."""


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A compiled path. ``keys`` is the fast way for definite paths, ``steps`` the way for all others."""

    text: str
    keys: tuple[str | int, ...]
    steps: tuple[Step, ...]
    definite: bool

    def find(self, value: Any) -> Any:
        """Evaluate the path on ``value``. Raises PathNotFoundError if a definite path has no match."""
        if not self.definite:
            found: Iterable[Any] = [value]
            for step in self.steps:
                found = [inner for outer in found for inner in step(outer)]
            return list(found)
        for key in self.keys:
            value = _child(value, key)
            if value is MISSING:
                raise PathNotFoundError(f"there is no {self.text}")
        return value

    def __reduce__(self) -> tuple[Callable[[str], JsonPath], tuple[str]]:
        return compile_path, (self.text,)


def _child(value: Any, key: str | int) -> Any:
    if isinstance(key, str):
        if isinstance(value, dict):
            return value.get(key, MISSING)
        return len(value) if key == "length()" and isinstance(value, list | str) else MISSING
    if isinstance(value, NamedRow):
        value = list(value.values())
    if isinstance(value, list) and -len(value) <= key < len(value):
        return value[key]
    return MISSING


def _members(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _descendants(value: Any) -> Iterator[Any]:
    yield value
    for inner in _members(value):
        yield from _descendants(inner)


# ---------------------------------------------------------------- compiling

_NAME = re.compile(r"[^.\[\]()\s'\"*?,:]+(?:\(\))?")
_BRACKET_NAME = re.compile(r"\s*('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\s*")
_INDEX = re.compile(r"\s*(-?\d+)\s*")
_SLICE = re.compile(r"\s*(-?\d*)\s*:\s*(-?\d*)\s*")


@lru_cache(maxsize=1024)
def compile_path(text: str) -> JsonPath:
    """Compile a path. Raises ValueError that names the unsupported part."""
    compiler = _Compiler(text)
    compiler.run()
    return JsonPath(text, tuple(compiler.keys), tuple(compiler.steps), compiler.definite)


class _Compiler:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.keys: list[str | int] = []
        self.steps: list[Step] = []
        self.definite = True

    def run(self) -> None:
        self.text = self.text.strip()
        if not self.text.startswith("$"):
            self._refuse("a path starts with $")
        self.at = 1
        while self.at < len(self.text):
            if self.text.startswith("..", self.at):
                self._many(_descendants)
                self.at += 1 if self.text[self.at + 2 : self.at + 3] == "[" else 0
                self.at += 1
            if self.text[self.at] == ".":
                self.at += 1
                self._name()
            elif self.text[self.at] == "[":
                self._bracket()
            else:
                self._refuse(f"unexpected {self.text[self.at]!r}")

    def _name(self) -> None:
        if self.text.startswith("*", self.at):
            self.at += 1
            self._many(_members)
            return
        found = _NAME.match(self.text, self.at)
        if found is None:
            self._refuse("a name is missing")
            return
        self.at = found.end()
        self._one(found[0])

    def _bracket(self) -> None:
        end = _closing(self.text, self.at)
        if end < 0:
            self._refuse("a bracket is not closed")
        inside = self.text[self.at + 1 : end].strip()
        self.at = end + 1
        sliced = _SLICE.fullmatch(inside)
        if inside == "*":
            self._many(_members)
        elif inside.startswith("?"):
            self._many(_filter(inside[1:].strip()))
        elif sliced is not None:
            first, last = (int(part) if part else None for part in sliced.groups())
            self._many(lambda value: value[first:last] if isinstance(value, list) else ())
        else:
            keys = self._union(inside)
            if len(keys) == 1:
                self._one(keys[0])
            else:
                self._many(lambda value: [one for key in keys if (one := _child(value, key)) is not MISSING])

    def _union(self, inside: str) -> list[str | int]:
        keys: list[str | int] = []
        at = 0
        while True:
            name, index = _BRACKET_NAME.match(inside, at), _INDEX.match(inside, at)
            found = name or index
            if found is None:
                self._refuse(f"[{inside}] is not understood")
                return keys
            keys.append(_unquoted(found[1]) if name else int(found[1]))
            at = found.end()
            if at == len(inside):
                return keys
            if inside[at] != ",":
                self._refuse(f"[{inside}] is not understood")
            at += 1

    def _one(self, key: str | int) -> None:
        self.keys.append(key)
        self.steps.append(lambda value: () if (one := _child(value, key)) is MISSING else (one,))

    def _many(self, step: Step) -> None:
        self.definite = False
        self.steps.append(step)

    def _refuse(self, why: str) -> None:
        raise ValueError(f"{self.text!r} is not a JSON path that is understood here: {why}")


def _closing(text: str, at: int) -> int:
    """Position of the bracket that closes the one at ``at``; quotes and inner brackets are skipped."""
    depth, quote = 0, ""
    for place in range(at, len(text)):
        letter = text[place]
        if quote:
            if letter == quote and text[place - 1] != "\\":
                quote = ""
        elif letter in "'\"":
            quote = letter
        elif letter == "[":
            depth += 1
        elif letter == "]":
            depth -= 1
            if depth == 0:
                return place
    return -1


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])


# ---------------------------------------------------------------- filters

_COMPARISON = re.compile(r"\s*(@[^=!<>]*?)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?))?\s*", re.DOTALL)
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


def _filter(text: str) -> Step:
    """Compile a filter, ``(@.a > 1 && @.b || @.c == 'x')``: selects members for which it holds. && binds tighter; inner
    parentheses are not supported."""
    if not (text.startswith("(") and text.endswith(")")):
        raise ValueError(f"the filter {text!r} is not understood: write ?(@.name == 'value')")
    alternatives = [[_condition(part) for part in either.split("&&")] for either in text[1:-1].split("||")]

    def step(value: Any) -> Iterable[Any]:
        return [
            member for member in _members(value) if any(all(test(member) for test in tests) for tests in alternatives)
        ]

    return step


def _condition(text: str) -> Callable[[Any], bool]:
    found = _COMPARISON.fullmatch(text)
    if found is None:
        raise ValueError(f"the filter {text.strip()!r} is not understood")
    path = compile_path("$" + found[1][1:])
    if not path.definite:
        raise ValueError(f"the filter {text.strip()!r}: only a path to one value can be compared")
    if found[2] is None:
        return lambda member: _found(path, member) is not MISSING
    compare, wanted = _OPERATORS[found[2]], _literal(found[3])

    def holds(member: Any) -> bool:
        actual = _found(path, member)
        try:
            return actual is not MISSING and compare(actual, wanted)
        except TypeError:
            return False

    return holds


def _found(path: JsonPath, value: Any) -> Any:
    try:
        return path.find(value)
    except PathNotFoundError:
        return MISSING


def _literal(text: str) -> Any:
    if text[0] in "'\"" and text[-1] == text[0]:
        return _unquoted(text)
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise ValueError(f"{text!r} is neither a number nor a text in quotes") from None
