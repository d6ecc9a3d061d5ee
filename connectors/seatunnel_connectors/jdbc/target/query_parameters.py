"""The sink's ``query`` option: which columns its ``?`` or ``:field`` parameters stand for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from seatunnel_py.api import FatalError, TableSchema

# Literals, quoted names, comments and dollar quotes hold no parameters; then come casts (::), `:name` and `?`.
_TOKENS = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\1\$|::|:([A-Za-z_]\w*)|\?", re.S
)


@dataclass(frozen=True, slots=True)
class Parameterised:
    """A statement in a driver's own style, and the positions of the columns that fill it."""

    sql: str
    positions: tuple[int, ...]


def bind(query: str, table: TableSchema, marker: str = "%s", *, escape_percent: bool = True) -> Parameterised:
    """``?`` takes the columns in their order; a statement without any takes ``:field`` by name."""
    text = query.strip().rstrip(";")
    questions = sum(match.group(0) == "?" for match in _TOKENS.finditer(text))
    positions: list[int] = []

    def one(match: re.Match[str]) -> str:
        word = match.group(0)
        if word == "?":
            positions.append(len(positions))
            return marker
        if match.group(2) and not questions:
            positions.append(_position(match.group(2), table))
            return marker
        return word.replace("%", "%%") if escape_percent else word

    pieces, at = [], 0
    for match in _TOKENS.finditer(text):
        between = text[at : match.start()]
        pieces += [between.replace("%", "%%") if escape_percent else between, one(match)]
        at = match.end()
    rest = text[at:]
    pieces.append(rest.replace("%", "%%") if escape_percent else rest)
    if questions > len(table.columns):
        raise FatalError(
            f"the sink's query has {questions} parameters, but table {table.path} has {len(table.columns)} columns",
            "use as many ? as there are columns, or :field names",
        )
    return Parameterised("".join(pieces), tuple(positions))


def _position(name: str, table: TableSchema) -> int:
    if name in table.names:
        return table.names.index(name)
    raise FatalError(
        f"the sink's query names the field :{name}, but table {table.path} has the columns {', '.join(table.names)}",
        "correct the name in query",
    )
