"""Problems of a job file, as text with the lines that they lie on, or as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from seatunnel_py.cli import debugging
from seatunnel_py.errors import ExitCode, JobFileError, Problem, SeaTunnelError, TablesFailedError, UnreachableError
from seatunnel_py.runtime.job_changes import ChangesRefused


def problems_plain(error: JobFileError) -> list[dict[str, Any]]:
    """All problems as JSON-ready data."""
    return [asdict(problem) for problem in error.problems]


def failed_plain(error: JobFileError) -> dict[str, Any]:
    """What a command that prints JSON prints instead of its result."""
    state = "JOB_FILE_WRONG" if exit_code(error) == ExitCode.JOB_FILE_WRONG else "FAILED"
    return {"state": state, "problems": problems_plain(error)}


def tell_plain(error: JobFileError) -> int:
    """Print it as a command does that prints JSON; returns the exit code."""
    debugging.tell(error)
    typer.echo(json.dumps(failed_plain(error), indent=1))
    return exit_code(error)


def tell_refused(error: SeaTunnelError) -> int:
    """Print an error as a command does that prints JSON; returns the exit code."""
    told: dict[str, Any] = {"state": "FAILED", "message": error.message, "remedy": error.remedy}
    if isinstance(error, ChangesRefused):  # people were told of them before
        told["changes"] = list(error.changes)
    typer.echo(json.dumps(told, indent=1))
    return ExitCode.FAILED


def tell_problems(error: JobFileError) -> int:
    """Print every problem to stderr; returns the exit code."""
    debugging.tell(error)
    for problem in error.problems:
        typer.echo(_text(problem), err=True)
    count = len(error.problems)
    typer.echo(f"{count} problem{'s' if count > 1 else ''}; nothing was started", err=True)
    return exit_code(error)


def exit_code(error: JobFileError) -> int:
    """A scheduler may try again what is away, and what tables fail for, but not what is wrong."""
    passing = isinstance(error, UnreachableError | TablesFailedError)
    return ExitCode.FAILED if passing else ExitCode.JOB_FILE_WRONG


def _text(problem: Problem) -> str:
    place = typer.style(_place(problem), bold=True)
    what = f"{problem.path}: {problem.message}" if problem.path else problem.message
    lines = [f"{place}: {typer.style('error', fg='red', bold=True)}: {what}"]
    lines += [f"    {typer.style('did you mean', fg='green')} {problem.suggestion}?"] if problem.suggestion else []
    lines += [f"    {typer.style('remedy', fg='green')}: {problem.remedy}"] if problem.remedy else []
    return "\n".join(lines)


def _place(problem: Problem) -> str:
    name = problem.file or "job"
    path = Path(name)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        name = str(path.relative_to(Path.cwd()))
    return f"{name}:{problem.line}:{problem.column}" if problem.line else name
