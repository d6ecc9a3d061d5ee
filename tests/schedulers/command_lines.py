"""Checks command lines of files for schedulers with the parser of the command itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typer.main import get_command

from seatunnel_py.cli.main import app


def require_command(words: Sequence[str]) -> None:
    """Raises KeyError for a command that does not exist, and an error of the parser for wrong options. Runs nothing."""
    rest, command = list(words), _root()
    while hasattr(command, "commands"):
        command = command.commands[rest.pop(0)]
    command.make_context("seatunnel", rest)


def _root() -> Any:
    return get_command(app)
