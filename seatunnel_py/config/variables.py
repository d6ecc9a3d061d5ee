"""Resolves variables: ``-i name=value``, then the environment, then the default in ``${name:default}``.

A name without any of these stays as written, so that a sink's placeholders survive until its table is known. The names
of those placeholders may not be set. ``${env:NAME}`` and ``${file:path}`` stay until the secret is needed; ``${env}``
and ``${file}`` are variables like others.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from seatunnel_py.errors import JobFileError, Problem

RESERVED = frozenset(
    {
        "database_name",
        "schema_name",
        "table_name",
        "schema_full_name",
        "table_full_name",
        "primary_key",
        "unique_key",
        "field_names",
        "partition_keys",
    }
)
"""Placeholders that a sink fills in for each of its tables."""

COMMENT = "comment"
"""Also a placeholder, the table's comment, but the name stays free for a variable, which wins."""

FILLED = RESERVED | {COMMENT}
"""Every placeholder that a sink fills in."""

SECRET_SCHEMES = frozenset({"env", "file"})
"""``${env:NAME}`` and ``${file:path}`` are references to secrets, not variables with a default."""

_PLAIN = r"[^{}$]++|\$(?!\{)"
_BALANCED = rf"(?:{_PLAIN}|\{{(?:{_PLAIN}|\{{(?:{_PLAIN}|\{{(?:{_PLAIN})*+\}})*+\}})*+\}})*+"
VARIABLE = re.compile(rf"\$\{{([^:{{}}]+)(:{_BALANCED}(?=\}})|:[^}}]*)?\}}")
"""Name and ``:default``. A default may be JSON: balanced braces, three deep, belong to it."""


def references(text: str) -> Iterator[re.Match[str]]:
    """Every variable in a text. None can end after the last brace: there the pattern would scan from each ``${`` to the
    end of the text."""
    return VARIABLE.finditer(text, 0, text.rfind("}") + 1)


def replaced(text: str, replacement: Callable[[re.Match[str]], str]) -> str:
    """Replace each variable in a text."""
    end = text.rfind("}") + 1
    return VARIABLE.sub(replacement, text[:end]) + text[end:] if "${" in text else text


@dataclass(frozen=True, slots=True)
class Variables:
    """Values by name. The command line wins over the environment."""

    given: Mapping[str, str] = field(default_factory=dict, repr=False)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    asked: set[str] = field(default_factory=set, compare=False)
    """Every name that the job file has looked up."""

    def lookup(self, name: str, default: str | None = None) -> str | None:
        """Return the value of a name, or its default, or None if the reference has to stay as written."""
        self.asked.add(name)
        if name in RESERVED or (name in SECRET_SCHEMES and default is not None):
            return None
        if name in self.given:
            return self.given[name]
        found = self.environment.get(name)
        return found if found is not None and is_text(found) else default

    def substitute(self, text: str) -> str:
        """Fill in the variables of a quoted text; their values are not expanded again."""
        return replaced(text, self._replacement)

    def _replacement(self, match: re.Match[str]) -> str:
        default = match[2][1:].strip() if match[2] is not None else None
        value = self.lookup(match[1].strip(), default)
        return match[0] if value is None else value


def is_text(value: str) -> bool:
    """Whether an operating-system text was valid text, not bytes that no encoding explains."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def parse_arguments(arguments: Iterable[str]) -> dict[str, str]:
    """Parse ``-i`` arguments: ``a=1``, or several in one, ``a=1,b=[x,y],c="p,q"``.

    A comma inside brackets or double quotes separates nothing. Only the first ``=`` separates name and value.
    """
    given: dict[str, str] = {}
    problems = []
    for ordinal, argument in enumerate(arguments, 1):
        for part in _split(argument):
            name, equals, value = part.partition("=")
            name = name.strip()
            if not equals or not name:
                # The argument may be a secret whose name was forgotten: it is not repeated.
                message = f"-i takes name=value; argument {ordinal} has a part without {'a name' if equals else '='}"
                remedy = _COMMAS if "," in argument else ""
                problems.append(Problem(message, "command line", remedy=remedy))
            elif not is_text(part):
                problems.append(Problem(f"-i: argument {ordinal} is not UTF-8 text", "command line"))
            elif name in RESERVED:
                problems.append(
                    Problem(
                        f"-i {name}: system placeholders cannot be used as variables",
                        "command line",
                        remedy="Choose another name; this one is filled in for each table of a sink.",
                    )
                )
            else:
                given[name] = _unquoted(value)
    if problems:
        raise JobFileError(tuple(problems))
    return given


_COMMAS = """Commas separate variables. Put a value that holds commas in double quotes: -i 'name="a,b"'."""


def _split(argument: str) -> list[str]:
    parts = [""]
    brackets, quoted = 0, False
    for letter in argument:
        if letter == '"':
            quoted = not quoted
        elif not quoted and letter in "[{":
            brackets += 1
        elif not quoted and letter in "]}":
            brackets -= 1
        if letter == "," and not quoted and brackets <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part.strip()]


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) >= 2 and value[0] == value[-1] == '"' else value
