"""Implements ``seatunnel encrypt``: prints a job file with its secrets encrypted (or decrypted) by
``env.shade.identifier``."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from seatunnel_py.cli.view.terminal import say, say_document
from seatunnel_py.config import shade
from seatunnel_py.config.job_file import load
from seatunnel_py.errors import ExitCode


def rewrite(path: Path, *, decrypt: bool) -> int:
    """Print the job file as JSON, with its sensitive options converted."""
    job = load(path, decrypt=False)
    cipher = shade.cipher(job.env.shade_identifier, job.env.shade_properties)
    if isinstance(cipher, shade.PlainText):
        say("env.shade.identifier names no cipher: nothing is encrypted", err=True)
        return ExitCode.JOB_FILE_WRONG
    convert = shade.decrypted if decrypt else shade.encrypted
    say_document(job.rendered(partial(convert, using=cipher, more=job.env.shade_options)))
    return ExitCode.SUCCESS
