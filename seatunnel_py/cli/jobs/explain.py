"""Implements ``seatunnel jobs explain``: asks a running job which part of it waits for which."""

from __future__ import annotations

import time

from seatunnel_py.cli.jobs.job_list import standing_lines
from seatunnel_py.cli.view.terminal import say, say_json
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.jobs.driver_question import explained
from seatunnel_py.jobs.job_lookup import JobLocation, known
from seatunnel_py.runtime.storage.job_directory import how_it_ended


def explain(job_id: str, where: JobLocation, *, as_json: bool) -> int:
    """Show the activity of a running job: sentences, or the facts that they are made from. Raises SeaTunnelError if no
    driver answers."""
    job = known(job_id, where)
    if not job.here and (receipt := job.receipt) is not None:
        ended = f"the job {job_id!r} {how_it_ended(job.about, receipt)}: nothing of it waits"
        raise SeaTunnelError(ended, f"`seatunnel jobs show {job_id}` shows its end")
    standing, silence = explained(job)
    if standing is None:
        raise SeaTunnelError(f"the job {job_id!r} cannot explain itself: {silence}", f"`seatunnel jobs show {job_id}`")
    if as_json:
        say_json({"job_id": job_id, "at": time.time(), "tables": standing})
        return ExitCode.SUCCESS
    if not standing:
        say("all of its tables have ended")
    for line in standing_lines(standing):
        say(line)
    return ExitCode.SUCCESS
