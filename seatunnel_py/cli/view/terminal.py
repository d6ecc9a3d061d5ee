"""Holds the only path to a terminal: data, names, job files and server messages are shown, and control nothing.

``say`` takes texts of any origin, ``Styled`` parts among them; ``say_rendered`` takes the output of a ``safe_console``.
``say_json`` escapes by JSON's own rules, so that the text parses back unchanged.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import Any, TextIO

import typer

from seatunnel_py.terminal_text import json_text, terminal_text

_alone: list[TextIO] = []
"""Destination of JSON output while everything else goes to stderr."""


@contextmanager
def documents_alone() -> Iterator[None]:
    """Wraps a command that prints JSON for a machine: output of plugins, such as the rows of Console, goes to
    stderr."""
    _alone.append(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _alone.pop()


@dataclass(frozen=True, slots=True)
class Styled:
    """A part of a line with a colour, or in bold."""

    text: str
    colour: str | None = None
    bold: bool | None = None


def say(*parts: str | Styled, err: bool = False, nl: bool = True) -> None:
    """Print one line, or several."""
    typer.echo("".join(map(_shown, parts)), err=err, nl=nl)


def _shown(part: str | Styled) -> str:
    if isinstance(part, Styled):
        return typer.style(terminal_text(part.text), fg=part.colour, bold=part.bold)
    return terminal_text(part)


def say_rendered(text: str) -> None:
    """Print the text that a safe console has drawn."""
    typer.echo(text)


def say_json(plain: Any, default: Callable[[Any], Any] | None = None) -> None:
    """Print plain data as JSON: the two outer levels have a line for each entry. Deeper levels share a line, because
    Python's encoder is ten times slower with an indent, and a receipt of 200 tables has 80,000 entries."""
    encode = json.JSONEncoder(default=default).encode
    say_document("".join(_lines(plain, encode, 2, "\n")))


def _lines(plain: Any, encode: Callable[[Any], str], levels: int, line: str) -> Iterator[str]:
    if not levels or not plain or not isinstance(plain, dict | list | tuple):
        yield encode(plain)
        return
    deeper = f"{line} "
    begin, end = "{}" if isinstance(plain, dict) else "[]"
    yield begin
    for number, entry in enumerate(plain):
        yield f"{',' if number else ''}{deeper}"
        if isinstance(plain, dict):
            yield f"{encode(str(entry))}: "
            yield from _lines(plain[entry], encode, levels - 1, deeper)
        else:
            yield from _lines(entry, encode, levels - 1, deeper)
    yield f"{line}{end}"


def say_document(text: str, *, nl: bool = True) -> None:
    """Print a text in JSON or HOCON, in which only strings may hold unprintable characters."""
    typer.echo(json_text(text), file=_alone[-1] if _alone else None, nl=nl)
