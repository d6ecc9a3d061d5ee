"""Implements ``seatunnel jobs metrics``: prints the metrics of jobs, from the live records of their runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.jobs.home_metrics import metrics_of
from seatunnel_py.runtime.diagnosis.live_record import replace_metrics
from seatunnel_py.runtime.observe.metric_text import text_of
from seatunnel_py.runtime.storage.home import Home


def metrics(job_ids: Sequence[str], to: Path | None) -> int:
    """Print the metrics of these jobs, or of all in this home with those of the home; ``to``: into a file."""
    home = Home.of_environment()
    places = [home.job(job_id) for job_id in dict.fromkeys(job_ids)] or list(home.jobs())
    text = text_of(metrics_of(home, places, whole=not job_ids))
    if to is None:
        sys.stdout.write(text)
        return ExitCode.SUCCESS
    try:
        replace_metrics(to, text)
    except OSError as error:
        raise SeaTunnelError(f"cannot write {to}: {error.strerror}", "create its directory, or name another") from error
    return ExitCode.SUCCESS
