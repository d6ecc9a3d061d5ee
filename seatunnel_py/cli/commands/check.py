"""Implements ``seatunnel check``: reports every mistake of a job file, without starting anything."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seatunnel_py import app
from seatunnel_py.cli.view.problems import problems_plain, tell_problems
from seatunnel_py.cli.view.terminal import Styled, say, say_json
from seatunnel_py.errors import ExitCode, JobFileError


def check(paths: list[Path], variables: Mapping[str, str], *, as_json: bool) -> int:
    """Check and report all files; the exit code is the worst one."""
    worst = ExitCode.SUCCESS
    reports: list[dict[str, Any]] = []
    for path in paths:
        try:
            job = app.check(path, variables)
        except JobFileError as error:
            worst = ExitCode.JOB_FILE_WRONG
            reports.append({"file": str(path), "valid": False, "problems": problems_plain(error)})
            if not as_json:
                tell_problems(error)
            continue
        reports.append({"file": str(path), "valid": True, "notes": list(job.notes)})
        if not as_json:
            for note in job.notes:
                say(f"{path}: note: {note}")
            kinds = ", ".join(f"{step.plugin}" for step in job.steps)
            say(f"{path}: ", Styled("valid", "green"), f" ({job.mode.value.lower()}: {kinds})")
    if as_json:
        say_json(reports)
    return worst
