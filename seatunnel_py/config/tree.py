"""Defines the value tree of a job file: plain data that remembers the place of each piece.

A ``Node`` counts the values that it holds. A few lines of substitutions that expand to millions of values are thus
refused while they are built, not when the tree is walked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from seatunnel_py.errors import JobFileError, Problem

VALUES_MAX = 100_000
"""Limit of values of one job file after substitution; the largest job files seen in use hold some hundreds."""

DEPTH_MAX = 64
"""Limit of levels after substitution; the guard allows fewer in the written text."""

CHARACTERS_PER_VALUE = 64
"""Text counts as well: this many characters weigh as much as one more value."""


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A position in a file; lines and columns count from 1."""

    file: str
    line: int
    column: int

    def problem(self, message: str, *, path: str = "", remedy: str = "", suggestion: str = "") -> Problem:
        """Make a problem at this place."""
        return Problem(message, self.file, self.line, self.column, path, remedy, suggestion)

    def error(self, message: str, *, remedy: str = "") -> JobFileError:
        """Make an error that stops reading at this place."""
        return JobFileError((self.problem(message, remedy=remedy),))


class WrittenInt(int):
    """An integer that prints as it was written (``007``), for options that turn out to be text."""

    written: str

    def __new__(cls, written: str) -> WrittenInt:
        self = super().__new__(cls, written)
        self.written = written
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.written,)

    def __str__(self) -> str:
        return self.written


class WrittenFloat(float):
    """A number that prints as it was written (``1.10``), for options that turn out to be text."""

    written: str

    def __new__(cls, written: str) -> WrittenFloat:
        self = super().__new__(cls, written)
        self.written = written
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.written,)

    def __str__(self) -> str:
        return self.written


Scalar = str | int | float | bool | None
Value = Scalar | dict[str, "Node"] | list["Node"]


class Node:
    """One value and the place of its key (for a list's element: of the element itself)."""

    __slots__ = ("depth", "place", "size", "value")

    def __init__(self, value: Value, place: SourcePlace) -> None:
        self.value = value
        self.place = place
        self.size = 1 + (len(value) // CHARACTERS_PER_VALUE if isinstance(value, str) else 0)
        self.depth = 1
        for child in self.children():
            self.size += child.size
            self.depth = max(self.depth, child.depth + 1)
        if self.size > VALUES_MAX or self.depth > DEPTH_MAX:
            raise place.error(
                f"substitutions make this value too large (over {VALUES_MAX} values or {DEPTH_MAX} levels)"
            )

    def __repr__(self) -> str:
        # A node may hold a secret; an accidental print shows only its shape.
        return f"Node({type(self.value).__name__} at {self.place.file}:{self.place.line}:{self.place.column})"

    def children(self) -> Iterator[Node]:
        """Child nodes."""
        if isinstance(self.value, dict):
            yield from self.value.values()
        elif isinstance(self.value, list):
            yield from self.value

    @property
    def fields(self) -> dict[str, Node]:
        """Members of an object; empty for other values."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> list[Node]:
        """Elements of a list; empty for other values."""
        return self.value if isinstance(self.value, list) else []

    def at(self, place: SourcePlace) -> Node:
        """Return the same value at another place."""
        moved = object.__new__(Node)
        moved.value, moved.place, moved.size, moved.depth = self.value, place, self.size, self.depth
        return moved

    def plain(self, skip: frozenset[int] = frozenset()) -> Any:
        """Return the value without places, and without the nodes whose ``id`` is in ``skip``."""
        if isinstance(self.value, dict):
            return {key: node.plain(skip) for key, node in self.value.items() if id(node) not in skip}
        if isinstance(self.value, list):
            return [node.plain(skip) for node in self.value if id(node) not in skip]
        return self.value

    def mapped(self, change: Callable[[str, Node], Scalar], path: str = "") -> Node:
        """Return a tree of the same shape; ``change`` receives each scalar with its dotted path, without list
        indexes."""
        if isinstance(self.value, dict):
            prefix = f"{path}." if path else ""
            fields: Value = {k: node.mapped(change, f"{prefix}{k}") for k, node in self.value.items()}
            return Node(fields, self.place)
        if isinstance(self.value, list):
            return Node([node.mapped(change, path) for node in self.value], self.place)
        return Node(change(path, self), self.place)

    def leaves(self, path: str = "") -> Iterator[tuple[str, Node]]:
        """Each scalar with its dotted path, as in ``mapped``."""
        if isinstance(self.value, dict):
            prefix = f"{path}." if path else ""
            for key, node in self.value.items():
                yield from node.leaves(f"{prefix}{key}")
        elif isinstance(self.value, list):
            for node in self.value:
                yield from node.leaves(path)
        else:
            yield path, self

    def find(self, key: str) -> Node | None:
        """Find the node under a dotted key, whether dots, quotes or braces spell it."""
        if not isinstance(self.value, dict):
            return None
        if key in self.value:
            return self.value[key]
        for at, letter in enumerate(key):
            if letter == "." and (child := self.value.get(key[:at])) and (found := child.find(key[at + 1 :])):
                return found
        return None


def node_of(plain: Any, place: SourcePlace) -> Node:
    """Build a tree from plain data; all of it has the place ``place``."""
    if isinstance(plain, Mapping):
        return Node({str(key): node_of(value, place) for key, value in plain.items()}, place)
    if isinstance(plain, list | tuple):
        return Node([node_of(value, place) for value in plain], place)
    return Node(plain, place)
