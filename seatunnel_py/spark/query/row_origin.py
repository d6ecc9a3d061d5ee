"""Tracks the origin of rows through a narrow query: by a hidden column that passes through it untouched.

A query over projections and filters drops rows and never mixes them, so each row of its result is one input row. The
hidden column identifies it. The parts of that row beside its columns (its kind, marks, metadata, the position of its
batch) need not pass through Spark: they are found again after the query.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token

from seatunnel_py.plan.sql.parse import tokens
from seatunnel_py.spark.query.types import ROW, quoted


def with_row(query: str) -> str:
    """Spark's text of a query whose select lists also name the hidden column, unless a star does.

    Raises ValueError if there is no place for it. Catalyst decides whether it comes out.
    """
    found = tokens(query)
    places: list[int] = []
    for index, token in enumerate(found):
        if token.text.upper() == "SELECT":
            end, star = _list_end(found, index)
            if not star:
                places.append(found[end].start)
    for place in sorted(places, reverse=True):
        query = f"{query[:place].rstrip()}, {quoted(ROW)} {query[place:]}"
    return query


def _list_end(found: list[Token], index: int) -> tuple[int, bool]:
    """The index of the FROM that ends a select list, and whether the list holds a star."""
    depth, star = 0, False
    for at in range(index + 1, len(found)):
        word, before = found[at].text.upper(), found[at - 1].text.upper()
        if word == "(":
            depth += 1
        elif word == ")":
            depth -= 1
            if depth < 0:
                break
        elif depth == 0 and word == "FROM":
            return at, star
        elif word == "*" and before in ("SELECT", "ALL", ",", ".", "("):
            if depth:
                raise ValueError("a star inside an expression would take the hidden column in")
            star = True
    raise ValueError("a SELECT without FROM")
