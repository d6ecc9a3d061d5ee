"""Renders problems of a job file, as text with the lines at fault, or as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from seatunnel_py.cli import debugging
from seatunnel_py.cli.view.terminal import Styled, say, say_json
from seatunnel_py.errors import (
    ChangesRefusedError,
    ExitCode,
    JobFileError,
    Problem,
    SeaTunnelError,
)
from seatunnel_py.nouns import counted


def problems_plain(error: JobFileError) -> list[dict[str, Any]]:
    """All problems as JSON-ready data."""
    return [asdict(problem) for problem in error.problems]


def failed_plain(error: JobFileError) -> dict[str, Any]:
    """The output of a JSON command that failed, in place of its result."""
    state = "JOB_FILE_WRONG" if error.exit_code == ExitCode.JOB_FILE_WRONG else "FAILED"
    return {"state": state, "problems": problems_plain(error)}


def tell_plain(error: JobFileError) -> int:
    """Print problems for a command with JSON output; return the exit code."""
    debugging.tell(error)
    say_json(failed_plain(error))
    return error.exit_code


def tell_refused(error: SeaTunnelError) -> int:
    """Print an error for a command with JSON output; return the exit code."""
    say_json(refused_plain(error))
    return error.exit_code


def refused_plain(error: SeaTunnelError) -> dict[str, Any]:
    """An error as JSON-ready data."""
    state = "RUNS_ALREADY" if error.exit_code == ExitCode.RUNS_ALREADY else "FAILED"
    told: dict[str, Any] = {"state": state, "message": error.message, "remedy": error.remedy}
    if isinstance(error, ChangesRefusedError):  # already reported to the user
        told["changes"] = list(error.changes)
    return told


def tell_problems(error: JobFileError) -> int:
    """Print every problem to stderr; return the exit code."""
    debugging.tell(error)
    for problem in error.problems:
        say(*_parts(problem), err=True)
    say(f"{counted(len(error.problems), 'problem')}; nothing was started", err=True)
    return error.exit_code


def _parts(problem: Problem) -> Iterator[str | Styled]:
    yield Styled(_place(problem), bold=True)
    yield ": "
    yield Styled("error", "red", bold=True)
    yield f": {problem.path}: {problem.message}" if problem.path else f": {problem.message}"
    if problem.suggestion:
        yield "\n    "
        yield Styled("did you mean", "green")
        yield f" {problem.suggestion}?"
    if problem.remedy:
        yield "\n    "
        yield Styled("remedy", "green")
        yield f": {problem.remedy}"


def _place(problem: Problem) -> str:
    from seatunnel_py.runtime.storage.home import COPIES, Home  # pulls the receipt and all its imports

    name = problem.file or "job"
    path = Path(name)
    if path.parent == Home.of_environment().path / COPIES:
        return f"the job of your command, line {problem.line} of {path}"
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        name = str(path.relative_to(Path.cwd()))
    return f"{name}:{problem.line}:{problem.column}" if problem.line else name
