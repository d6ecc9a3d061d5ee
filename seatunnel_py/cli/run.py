"""``seatunnel run``: progress while it runs, a receipt at the end."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import typer

from seatunnel_py import app
from seatunnel_py.cli.problems import problems_plain, tell_problems
from seatunnel_py.cli.progress import progress
from seatunnel_py.cli.receipt_view import receipt_text
from seatunnel_py.errors import JobFileError, SeaTunnelError
from seatunnel_py.runtime.home import Home
from seatunnel_py.runtime.receipt import ExitCode


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for on the command line."""

    job: Path
    variables: Mapping[str, str]
    job_id: str | None
    fresh: bool
    only: tuple[str, ...]
    as_json: bool


def run(request: Request) -> int:
    """Run a job; returns the exit code."""
    options = app.RunOptions(request.variables, request.job_id, request.fresh, request.only)
    home = Home.of_environment()
    try:
        with progress(quiet=request.as_json) as listen, _signals() as stopper:
            receipt = app.run(request.job, options, home, listen, stopper.arm)
    except JobFileError as error:
        if request.as_json:
            typer.echo(json.dumps({"state": "JOB_FILE_WRONG", "problems": problems_plain(error)}, indent=1))
            return ExitCode.JOB_FILE_WRONG
        return tell_problems(error)
    except SeaTunnelError as error:
        if not request.as_json:
            raise
        failed = {"state": "FAILED", "message": error.message, "remedy": error.remedy}
        typer.echo(json.dumps(failed, indent=1))
        return ExitCode.FAILED
    typer.echo(json.dumps(receipt.to_plain(), indent=1) if request.as_json else receipt_text(receipt, home))
    return receipt.exit_code


class _Stopper:
    """Turns the first signal into a clean stop; the second one ends the process at once."""

    def __init__(self) -> None:
        self._driver: Any = None

    def arm(self, driver: Any) -> None:
        self._driver = driver

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._driver is None:
            raise KeyboardInterrupt
        signal.signal(number, signal.SIG_DFL)
        typer.echo("stopping; once more aborts", err=True)
        self._driver.stop(ExitCode.INTERRUPTED if number == signal.SIGINT else ExitCode.TERMINATED)


@contextmanager
def _signals() -> Iterator[_Stopper]:
    stopper = _Stopper()
    previous = {number: signal.signal(number, stopper) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopper
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
