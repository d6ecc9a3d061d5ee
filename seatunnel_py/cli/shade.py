"""``seatunnel encrypt``: a job file with its secrets encrypted (or decrypted) by ``env.shade.identifier``."""

from __future__ import annotations

from pathlib import Path

import typer

from seatunnel_py.config.job_file import load
from seatunnel_py.config.shade import rewritten
from seatunnel_py.runtime.receipt import ExitCode


def shade(path: Path, *, decrypt: bool) -> int:
    """Print the rewritten job file."""
    typer.echo(rewritten(load(path), decrypt=decrypt))
    return ExitCode.SUCCESS
