"""Implements ``--debug``, which every command accepts: prints the tracebacks of errors, which otherwise are only in a
job's log."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Iterator
from pathlib import Path

from seatunnel_py.cli.view.terminal import say
from seatunnel_py.redaction import redacted_text

OPTION = "--debug"
VARIABLE = "SEATUNNEL_DEBUG"


def take(arguments: list[str]) -> None:
    """Remove the option from a command line, at any position."""
    if OPTION in arguments:
        arguments.remove(OPTION)
        os.environ[VARIABLE] = "1"


def wanted() -> bool:
    return os.environ.get(VARIABLE, "0") not in ("", "0")


def tell(error: BaseException) -> None:
    """Print the traceback of an error that ends the command, if ``--debug`` was given."""
    if wanted():
        tell_trace(error)


def tell_trace(error: BaseException) -> None:
    """Format it as Python would, without the secrets that it quotes."""
    say(redacted_text("".join(traceback.format_exception(error))), err=True)


def tell_traces(events: Path) -> None:
    """Return the tracebacks of a job's failures, each once, as its log has them: secrets are masked there."""
    for trace in dict.fromkeys(_traces(events)):
        say(trace, err=True)


def _traces(events: Path) -> Iterator[str]:
    for line in events.read_text(encoding="utf-8").splitlines() if events.exists() else ():
        cause = json.loads(line).get("cause")
        if isinstance(cause, dict) and cause.get("trace"):
            yield str(cause["trace"])
