"""The only way to a terminal: what data, names, job files and servers say is shown, and steers nothing.

``say`` takes texts of any origin, ``Styled`` parts among them; ``say_rendered`` takes what a ``safe_console`` has
written. ``say_json`` escapes by JSON's own rules, so that it is read back unchanged.
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
"""Where documents go while everything else goes to stderr."""


@contextmanager
def documents_alone() -> Iterator[None]:
    """Around a command that prints JSON for a machine: what plugins print, such as the rows of Console, goes beside."""
    _alone.append(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _alone.pop()


@dataclass(frozen=True, slots=True)
class Styled:
    """A part of a line that has a colour, or is bold."""

    text: str
    colour: str | None = None
    bold: bool | None = None


def say(*parts: str | Styled, err: bool = False, nl: bool = True) -> None:
    """A line, or several."""
    typer.echo("".join(map(_shown, parts)), err=err, nl=nl)


def _shown(part: str | Styled) -> str:
    if isinstance(part, Styled):
        return typer.style(terminal_text(part.text), fg=part.colour, bold=part.bold)
    return terminal_text(part)


def say_rendered(text: str) -> None:
    """What a safe console has written into a text."""
    typer.echo(text)


def say_json(plain: Any, default: Callable[[Any], Any] | None = None) -> None:
    """Plain data as JSON."""
    say_document(json.dumps(plain, indent=1, default=default))


def say_document(text: str, *, nl: bool = True) -> None:
    """A text in JSON or HOCON, in which only strings hold what may not be printed."""
    typer.echo(json_text(text), file=_alone[-1] if _alone else None, nl=nl)
