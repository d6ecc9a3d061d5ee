"""Rewords Spark's errors about a query for its author."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from typing import Any

from sqlglot import exp

from seatunnel_py.plan.sql.parse import PEER, SqlError, at, parse_query

_OF_PYTHON = re.compile(r"from the Python worker:.*?^ValueError: ([^\n]+)", re.DOTALL | re.MULTILINE)
# An error that came through the JVM bare: the class of the exception, then Spark's code in brackets.
_CODED = re.compile(r"(?:Exception|Error): (\[[A-Z][A-Z0-9_.]+\])")
# The SQL standard's classes of errors caused by values. Such an error repeats with the same rows, whatever values its
# text quotes: one may be "cancelled".
_OF_VALUES = re.compile(r"SQLSTATE: (?:21|22|23|P0)[0-9A-Z]{3}\b")
_LOST = (
    "Python worker exited unexpectedly",
    "crashed unexpectedly",
    "ExecutorLostFailure",
    "cancelled",
    "EOFException",
)


def readable(
    error: Exception, query: str, dialect: str, columns: Iterable[str], functions: Callable[[], Iterable[str]]
) -> SqlError:
    """Convert an analysis error of Spark's, with the place in the query if known.

    ``functions`` are the names of all functions; read only if one is not found.
    """
    name_of_error = _call(error, "getCondition") or ""
    parameters = _call(error, "getMessageParameters") or {}
    if name_of_error.startswith("UNRESOLVED_COLUMN"):
        name = _plain(parameters.get("objectName", ""))
        return _named(query, dialect, exp.Column, name, f"there is no column {name!r}", columns)
    if name_of_error == "UNRESOLVED_ROUTINE":
        name = _plain(parameters.get("routineName", "")).rpartition(".")[2]
        return _named(query, dialect, exp.Anonymous, name, f"there is no function {name!r}", functions())
    return SqlError(first_sentence(error))


def first_sentence(error: Exception) -> str:
    """Spark's own message without its codes, its plan and its stack."""
    text = str(error).strip()
    if raised := _OF_PYTHON.search(text):  # the message comes from a function of ours, and its traceback adds nothing
        return " ".join(raised[1].split())
    if found := _CODED.search(text):
        text = text[found.start(1) :]
    text = re.split(r"\s+SQLSTATE: |;\s*\n|\n== |\n\s*at |\n\n", text, maxsplit=1)[0]
    text = re.sub(r"^\[[A-Z0-9_.]+\]\s*", "", text)
    return " ".join(text.split()).rstrip(";")


def condition(error: Exception) -> str:
    """Spark's name for the error, such as ``CAST_INVALID_INPUT``; empty if the query is not at fault."""
    text = str(error)
    found = _CODED.search(text)
    name = _call(error, "getCondition") or (found[1].strip("[]") if found else "")
    if name and _OF_VALUES.search(text):
        return str(name)
    if any(mark in text for mark in _LOST):
        return ""
    return "" if name.startswith("INTERNAL_ERROR") else str(name)


def _named(query: str, dialect: str, kind: type[exp.Expr], name: str, message: str, known: Iterable[str]) -> SqlError:
    last = name.rpartition(".")[2]
    names = {other.lower(): other for other in known}
    near = difflib.get_close_matches(last.lower(), names, n=1)
    if near and near[0] != last.lower():
        message += f"; did you mean {names[near[0]]!r}?"
    elif kind is exp.Column and names:
        message += f" (columns: {', '.join(names.values())})"
    return at(_find(query, dialect, kind, last), message)


def _find(query: str, dialect: str, kind: type[exp.Expr], name: str) -> exp.Expr | None:
    try:
        tree = parse_query(query, dialect)
    except SqlError:
        return None
    wanted = name.lower()
    found: Iterable[exp.Expr] = tree.find_all(kind if dialect == PEER else exp.Column)
    return next((node for node in found if wanted in (node.name.lower(), _dotted(node))), None)


def _dotted(node: exp.Expr) -> str:
    return ".".join(part.name.lower() for part in node.parts) if isinstance(node, exp.Column) else ""


def _plain(name: str) -> str:
    return name.replace("`", "")


def _call(error: Exception, method: str) -> Any:
    """Spark's exceptions carry more than their text, other ones do not."""
    asked = getattr(error, method, None)
    return asked() if callable(asked) else None
