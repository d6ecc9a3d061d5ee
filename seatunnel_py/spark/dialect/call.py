"""Represents one function call in translation: its arguments as Spark's text, with their types on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from sqlglot import exp

from seatunnel_py.plan.sql.parse import SqlError, at

INTEGERS = frozenset({"tinyint", "smallint", "int", "bigint"})
FLOATING = frozenset({"float", "double"})
_ATOMS = (exp.Anonymous, exp.Boolean, exp.Cast, exp.Column, exp.Literal, exp.Null, exp.Paren, exp.TryCast)


@dataclass(frozen=True, slots=True)
class Argument:
    """``sql`` is its text in Spark's dialect; as a string it is self-contained, in parentheses if needed."""

    node: exp.Expr
    sql: str
    _type_of: Callable[[exp.Expr, str], str]

    def __str__(self) -> str:
        return self.sql if isinstance(self.node, _ATOMS) else f"({self.sql})"

    @property
    def type(self) -> str:
        """Spark's name of its type, such as ``decimal(10,2)``; empty if unknown."""
        return self._type_of(self.node, self.sql)

    @property
    def text(self) -> str | None:
        """The value of a text literal."""
        return self.node.this if isinstance(self.node, exp.Literal) and self.node.is_string else None

    @property
    def integer(self) -> int | None:
        """The value of an integer literal."""
        negative = isinstance(self.node, exp.Neg)
        node = self.node.this if negative else self.node
        if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit():
            return -int(node.this) if negative else int(node.this)
        return None

    @property
    def is_null(self) -> bool:
        return isinstance(self.node, exp.Null)

    @property
    def as_text(self) -> str:
        """The argument as a string, cast unless it is known to be one."""
        if self.text is not None or self.type == "string":
            return self.sql
        return f"CAST({self.sql} AS STRING)"


class ArgumentWriter(Protocol):
    """Translates one argument of an operator."""

    def argument(self, node: exp.Expr) -> Argument: ...


@dataclass(frozen=True, slots=True)
class Call:
    """``name`` is as written; an error names the call and its place."""

    name: str
    args: tuple[Argument, ...]
    node: exp.Expr

    def __getitem__(self, index: int) -> Argument:
        return self.args[index]

    def __len__(self) -> int:
        return len(self.args)

    def given(self, index: int) -> Argument | None:
        """An argument that may be absent, or NULL, which counts as absent."""
        if index < len(self.args) and not self.args[index].is_null:
            return self.args[index]
        return None

    def takes(self, least: int, most: int | None = None) -> None:
        """Check the number of arguments."""
        most = least if most is None else most
        if not least <= len(self.args) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise self.error(f"takes {wanted} arguments, not {len(self.args)}")

    def word(self, index: int, default: str, choices: frozenset[str]) -> str:
        """An argument that must be one of some words, as a text literal, in any case."""
        given = self.given(index)
        if given is None:
            return default
        if given.text is None:
            raise self.error(f"wants one of {', '.join(sorted(choices))} as a text, not {given.sql}")
        word = given.text.upper()
        if word not in choices:
            raise self.error(f"does not know {given.text!r}; it knows {', '.join(sorted(choices))}")
        return word

    def error(self, message: str) -> SqlError:
        return at(self.node, f"{self.name.upper()} {message}")

    def plain(self, name: str) -> str:
        """The call under another name, arguments unchanged."""
        return f"{name}({', '.join(arg.sql for arg in self.args)})"


def mixed(results: Sequence[Argument]) -> str | None:
    """Refuse results of which only some are texts: Spark would convert the texts to numbers, and fail at the first row
    with another text."""
    kinds = [(result.sql, "string" if result.text is not None else result.type) for result in results]
    texts = [sql for sql, dtype in kinds if dtype == "string"]
    others = [sql for sql, dtype in kinds if dtype not in ("string", "void", "")]
    return f"gives a text ({texts[0]}) or something else ({others[0]}); cast one of them" if texts and others else None


Translation: TypeAlias = Callable[[Call], str]


def renamed(name: str, least: int, most: int | None = None) -> Translation:
    """A function that Spark has under another name."""

    def translate(call: Call) -> str:
        call.takes(least, most)
        return call.plain(name)

    return translate


def cast_to(dtype: str, name: str, least: int, most: int | None = None) -> Translation:
    """A function of Spark's whose result gets another type."""

    def translate(call: Call) -> str:
        call.takes(least, most)
        return f"CAST({call.plain(name)} AS {dtype})"

    return translate


def refused(reason: str) -> Translation:
    """A function that cannot keep its meaning on Spark."""

    def translate(call: Call) -> str:
        raise call.error(reason)

    return translate
