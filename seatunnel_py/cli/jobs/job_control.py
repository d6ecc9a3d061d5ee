"""Implements ``seatunnel jobs cancel|savepoint`` and ``table reset|refresh``: sends a request, and waits for the
answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from seatunnel_py.cli.jobs.job_lookup import JobLocation, KnownJob, known
from seatunnel_py.cli.view.terminal import say, say_json
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.plan.tables.table_refresh import RefreshWish
from seatunnel_py.runtime.control.requests import ControlAnswer, ControlRequest, RequestKind, request_id
from seatunnel_py.runtime.storage.job_directory import how_it_ended

TAKEOVER_SECONDS = 2.0  # several looks of a driver, which are 0.5 s apart
LOOK_SECONDS = 0.1
GRACE_SECONDS = 5.0  # the driver reports its own time-out; this much later no answer will come
EXPLAIN_SECONDS = 8.0  # a driver polls every half second, a remote one every two; meanwhile it asks the targets


def savepoint(job_id: str, where: JobLocation, name: str | None, *, stop: bool, seconds: float, as_json: bool) -> int:
    """Take a savepoint of a running job; with ``stop`` the job ends after it."""
    from seatunnel_py.runtime.storage.savepoint_store import NAME_LENGTH_MAX, require_name

    job = known(job_id, where)
    made = f"-{time.strftime('%Y%m%d-%H%M%S')}-{request_id()[:4]}"
    chosen = name or f"{job_id[: NAME_LENGTH_MAX - len(made)]}{made}"
    require_name(chosen)
    wish = RequestKind.STOP if stop else RequestKind.SAVEPOINT
    answer = _asked(job, ControlRequest(request_id(), wish, _run_of(job), chosen, (), seconds), quiet=as_json)
    if answer.done and not as_json:
        say(f"{answer.text}: {answer.about['path']}")
        say(f"start a job from it: seatunnel run JOB --restore {chosen}")
        return ExitCode.SUCCESS
    return _tell(answer, as_json=as_json)


def cancel(job_id: str, where: JobLocation, tables: tuple[str, ...], *, seconds: float, as_json: bool) -> int:
    """End a running job, or some of its tables, at once."""
    job = known(job_id, where)
    request = ControlRequest(request_id(), RequestKind.CANCEL, _run_of(job), "", tables, seconds)
    return _tell(_asked(job, request, quiet=as_json), as_json=as_json)


def reset(job_id: str, where: JobLocation, tables: tuple[str, ...], *, seconds: float, as_json: bool) -> int:
    """Copy tables of a job again: now if it runs, else at its next start."""
    request = ControlRequest(request_id(), RequestKind.RESET, "", "", tables, seconds)
    text = f"{', '.join(tables)}: copied again at the next start of the job"
    (answer,) = asked_of_tables(known(job_id, where), [request], text, quiet=as_json)
    return _tell(answer, as_json=as_json)


def refresh(job_id: str, where: JobLocation, table: str, condition: str, *, seconds: float, as_json: bool) -> int:
    """Read rows of a followed table again: now if the job runs, else at its next start."""
    rows = RefreshWish("", table, condition).rows_plain()
    request = ControlRequest(request_id(), RequestKind.REFRESH, "", "", (table,), seconds, rows)
    text = f"{request.refresh.shown}: refreshed at the next start of the job"
    (answer,) = asked_of_tables(known(job_id, where), [request], text, quiet=as_json)
    return _tell(answer, as_json=as_json)


def asked_of_tables(
    job: KnownJob, requests: Sequence[ControlRequest], later: str, *, quiet: bool
) -> list[ControlAnswer]:
    """The answers to requests about followed tables. A stopped job performs them at its next start, with the answer
    ``later``. So does a job of another machine whose driver does not answer."""
    if job.receipt is not None and job.receipt["state"] == "SUCCESS" and not job.receipt.get("goes_on"):
        raise SeaTunnelError(f"the job {job.job_id!r} has finished: it follows no table any more")
    runs = job.receipt is None and _is_at_work(job)
    for request in requests:  # all of them at once: the job begins again only once
        job.control().ask(request)
    if not runs:
        silent = f"{later}, or as soon as a driver answers: none has within {EXPLAIN_SECONDS:.0f} s"
        text = silent if job.location is not None and job.receipt is None else later
        return [ControlAnswer(request.id, True, text, about={"later": True}) for request in requests]
    return [_answer_to(job, request, quiet=quiet) for request in requests]


def at_next_start(job: KnownJob, request: ControlRequest, text: str, *, as_json: bool) -> int:
    """Send a request that a start of the job performs. A running job begins again for it; ``text``: the answer for a
    stopped one."""
    (answer,) = asked_of_tables(job, [request], text, quiet=as_json)
    return _tell(answer, as_json=as_json)


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


def _run_of(job: KnownJob) -> str:
    """The run that receives the request. Raises SeaTunnelError if no driver would receive it."""
    about, receipt = job.about, job.receipt
    ended = receipt is not None
    far = job.location is not None and not ended
    if about is None or not (far or _is_here(job, ended=ended)):
        raise SeaTunnelError(
            f"no driver of the job {job.job_id!r} is running: it {how_it_ended(about, receipt)}", _way_on(job, receipt)
        )
    return str(about["driver"])


def _is_here(job: KnownJob, *, ended: bool) -> bool:
    """Whether a driver on this machine holds the job. One that took it over does so only after the driver before it has
    ended, at its next look."""
    until = time.monotonic() + TAKEOVER_SECONDS
    while not (here := bool(job.here)) and not ended and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
    return here


def _is_at_work(job: KnownJob) -> bool:
    """Whether a driver receives requests now. One on another machine is asked: nothing else shows that it is alive."""
    if job.location is None or job.here:
        return _is_here(job, ended=False)
    return explained(job)[0] is not None


def _way_on(job: KnownJob, receipt: dict[str, Any] | None) -> str:
    """Possible actions for a job that no driver runs. A failed one may be impossible to resume; its causes show
    that."""
    if receipt is None or receipt["state"] == "STOPPED":
        return f"`seatunnel run JOB --job-id {job.job_id} --restore latest` goes on with it"
    return "" if receipt["state"] == "SUCCESS" else f"`seatunnel jobs show {job.job_id}` shows the cause and the remedy"


def _asked(job: KnownJob, request: ControlRequest, *, quiet: bool) -> ControlAnswer:
    """Send the request, show progress, and return the outcome."""
    job.control().ask(request)
    return _answer_to(job, request, quiet=quiet)


def _answer_to(job: KnownJob, request: ControlRequest, *, quiet: bool) -> ControlAnswer:
    control = job.control()
    local = job.here
    until = time.monotonic() + request.seconds + GRACE_SECONDS
    shown = ""
    while (answer := control.answered(request.id)) is None:
        told = control.told(request.id) if job.here or not local else "its driver has died"
        if told != shown and not quiet:
            say(told, err=True)
        shown = told
        if time.monotonic() > until:
            died = local and not job.here
            raise SeaTunnelError(
                f"no answer within {request.seconds:.0f} s{': its driver has died' * died}",
                f"the request {request.id} stays, and is answered when the job goes on; `seatunnel jobs show "
                f"{job.job_id}{'' if local else ' --file JOB_FILE'}` shows its activity",
            )
        time.sleep(LOOK_SECONDS)
    return answer


def _tell(answer: ControlAnswer, *, as_json: bool) -> int:
    if as_json:
        say_json(asdict(answer))
    elif answer.done:
        say(answer.text)
    else:
        raise SeaTunnelError(answer.text, answer.remedy)
    return ExitCode.SUCCESS if answer.done else ExitCode.FAILED
