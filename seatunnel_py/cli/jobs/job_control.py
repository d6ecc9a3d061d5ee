"""Implements ``seatunnel jobs cancel|savepoint`` and ``table reset|refresh``: sends a request, and waits for the
answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict

from seatunnel_py.cli.view.terminal import say, say_json
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.jobs.driver_question import EXPLAIN_SECONDS, LOOK_SECONDS, explained, is_here, run_of
from seatunnel_py.jobs.job_lookup import JobLocation, KnownJob, known
from seatunnel_py.plan.tables.table_refresh import RefreshWish
from seatunnel_py.runtime.control.requests import ControlAnswer, ControlRequest, RequestKind, request_id

GRACE_SECONDS = 5.0  # the driver reports its own time-out; this much later no answer will come


def savepoint(job_id: str, where: JobLocation, name: str | None, *, stop: bool, seconds: float, as_json: bool) -> int:
    """Take a savepoint of a running job; with ``stop`` the job ends after it."""
    from seatunnel_py.runtime.storage.savepoint_store import NAME_LENGTH_MAX, require_name

    job = known(job_id, where)
    made = f"-{time.strftime('%Y%m%d-%H%M%S')}-{request_id()[:4]}"
    chosen = name or f"{job_id[: NAME_LENGTH_MAX - len(made)]}{made}"
    require_name(chosen)
    wish = RequestKind.STOP if stop else RequestKind.SAVEPOINT
    answer = _asked(job, ControlRequest(request_id(), wish, run_of(job), chosen, (), seconds), quiet=as_json)
    if answer.done and not as_json:
        say(f"{answer.text}: {answer.about['path']}")
        say(f"start a job from it: seatunnel run JOB --restore {chosen}")
        return ExitCode.SUCCESS
    return _tell(answer, as_json=as_json)


def cancel(job_id: str, where: JobLocation, tables: tuple[str, ...], *, seconds: float, as_json: bool) -> int:
    """End a running job, or some of its tables, at once."""
    job = known(job_id, where)
    request = ControlRequest(request_id(), RequestKind.CANCEL, run_of(job), "", tables, seconds)
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
    ``later``. A job of another machine whose driver does not answer performs them at its next start, too."""
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


def _is_at_work(job: KnownJob) -> bool:
    """Whether a driver receives requests now. One on another machine is asked: nothing else shows that it is alive."""
    if job.location is None or job.here:
        return is_here(job, ended=False)
    return explained(job)[0] is not None


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
