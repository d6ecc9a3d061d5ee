"""Asks the driver of a job, and names the run that a request is sent to."""

from __future__ import annotations

import time
from typing import Any

from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.jobs.job_lookup import KnownJob
from seatunnel_py.runtime.control.requests import ControlRequest, RequestKind, request_id
from seatunnel_py.runtime.storage.job_directory import how_it_ended

TAKEOVER_SECONDS = 2.0  # several looks of a driver, which are 0.5 s apart
LOOK_SECONDS = 0.1
EXPLAIN_SECONDS = 8.0  # a driver polls every half second, a remote one every two; meanwhile it asks the targets


def explained(job: KnownJob) -> tuple[list[dict[str, Any]] | None, str]:
    """Current activity of a running job, table by table; None if its driver does not answer, with a text for the user.
    The request leaves no trace."""
    if not job.here and job.location is None:
        again = f"`seatunnel run JOB --job-id {job.job_id} --restore latest` goes on with it"
        return None, f"{_end_of_driver(job)}: {again}"
    control = job.control()
    request = ControlRequest(request_id(), RequestKind.EXPLAIN, "", seconds=EXPLAIN_SECONDS)
    control.ask(request)
    try:
        until = time.monotonic() + EXPLAIN_SECONDS
        while (answer := control.answered(request.id)) is None and time.monotonic() < until:
            if not job.here and job.location is None:
                return None, "its driver has just ended"
            time.sleep(LOOK_SECONDS)
    finally:
        control.forget(request.id)
    if answer is not None:
        return list(answer.about.get("tables", ())), "" if answer.done else answer.text
    silent = f"its driver has not answered for {EXPLAIN_SECONDS:.0f} s"
    if job.here:
        return (
            None,
            f"{silent}, although its process is running: it is suspended, still starting, or the machine is overloaded",
        )
    return None, f"{silent}: it is dead, or cannot reach the checkpoint.location"


def _end_of_driver(job: KnownJob) -> str:
    why = (job.about or {}).get("failed")
    return f"its driver failed: {why}" if why else "its driver was killed before it ended"


def run_of(job: KnownJob) -> str:
    """The run that receives the request. Raises SeaTunnelError if no driver would receive it."""
    about, receipt = job.about, job.receipt
    ended = receipt is not None
    far = job.location is not None and not ended
    if about is None or not (far or is_here(job, ended=ended)):
        raise SeaTunnelError(
            f"no driver of the job {job.job_id!r} is running: it {how_it_ended(about, receipt)}", _way_on(job, receipt)
        )
    return str(about["driver"])


def is_here(job: KnownJob, *, ended: bool) -> bool:
    """Return True if a driver on this machine holds the job. A driver that takes a job over holds it only after the
    earlier driver has ended, at its next look."""
    until = time.monotonic() + TAKEOVER_SECONDS
    while not (here := bool(job.here)) and not ended and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
    return here


def _way_on(job: KnownJob, receipt: dict[str, Any] | None) -> str:
    """Possible actions for a job that no driver runs. A failed one may be impossible to resume; its causes show
    that."""
    if receipt is None or receipt["state"] == "STOPPED":
        return f"`seatunnel run JOB --job-id {job.job_id} --restore latest` goes on with it"
    return "" if receipt["state"] == "SUCCESS" else f"`seatunnel jobs show {job.job_id}` shows the cause and the remedy"
