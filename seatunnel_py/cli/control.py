"""``seatunnel jobs cancel|savepoint``: ask a running job for something, and wait for its answer."""

from __future__ import annotations

import json
import time
from dataclasses import asdict

import typer

from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.control import Answer, Control, Request, Wish, request_id
from seatunnel_py.runtime.home import ID_CHARACTERS, Home, JobPlace
from seatunnel_py.runtime.local_storage import LocalStorage
from seatunnel_py.runtime.receipt import ExitCode

LOOK_SECONDS = 0.1
GRACE_SECONDS = 5.0  # the driver says itself that it gives up; this much later it is not going to


def savepoint(job_id: str, name: str | None, *, stop: bool, seconds: float, as_json: bool) -> int:
    """Take a savepoint of a running job; ``stop``: it ends behind it."""
    home = Home.of_environment()
    place = home.job(job_id)
    chosen = name or f"{job_id}-{time.strftime('%Y%m%d-%H%M%S')}-{request_id()[:4]}"
    if not ID_CHARACTERS.issuperset(chosen) or chosen.startswith("."):
        raise SeaTunnelError(f"{chosen!r} is no name of a savepoint", "use letters, digits, '-', '_' and '.'")
    if (home.savepoints / chosen).exists():
        raise SeaTunnelError(f"there is a savepoint {chosen!r} already", "choose another --name")
    wish = Wish.STOP if stop else Wish.SAVEPOINT
    answer = _asked(place, Request(request_id(), wish, _run_of(place), chosen, (), seconds), quiet=as_json)
    if answer.done and not as_json:
        typer.echo(f"{answer.text}: {answer.about['path']}")
        typer.echo(f"begin a job with it: seatunnel run JOB --restore {chosen}")
        return ExitCode.SUCCESS
    return _tell(answer, as_json=as_json)


def cancel(job_id: str, tables: tuple[str, ...], *, seconds: float, as_json: bool) -> int:
    """End a running job, or some of its tables, at once."""
    place = Home.of_environment().job(job_id)
    request = Request(request_id(), Wish.CANCEL, _run_of(place), "", tables, seconds)
    return _tell(_asked(place, request, quiet=as_json), as_json=as_json)


def _run_of(place: JobPlace) -> str:
    """The run that is asked. SeaTunnelError where nobody would hear it."""
    about = place.read("job")
    if about is None or not place.running:
        ended = place.read("receipt") is not None
        raise SeaTunnelError(
            f"no driver of the job {place.job_id!r} lives: it {'has ended' if ended else 'was killed'}",
            "" if ended else f"`seatunnel run JOB --job-id {place.job_id} --restore latest` goes on with it",
        )
    return str(about["driver"])


def _asked(place: JobPlace, request: Request, *, quiet: bool) -> Answer:
    """Ask, show how far it has come, and return what became of it."""
    control = Control(LocalStorage(place.path))
    control.ask(request)
    until = time.monotonic() + request.seconds + GRACE_SECONDS
    shown = ""
    while (answer := control.answered(request.id)) is None:
        told = control.told(request.id) if place.running else "its driver has died"
        if told != shown and not quiet:
            typer.echo(told, err=True)
        shown = told
        if time.monotonic() > until:
            raise SeaTunnelError(
                f"nobody has answered within {request.seconds:.0f} s{': its driver has died' * (not place.running)}",
                f"the request stays, and is answered when the job goes on: {place.path}/control/{request.id}.answer",
            )
        time.sleep(LOOK_SECONDS)
    return answer


def _tell(answer: Answer, *, as_json: bool) -> int:
    if as_json:
        typer.echo(json.dumps(asdict(answer), indent=1))
    elif answer.done:
        typer.echo(answer.text)
    else:
        raise SeaTunnelError(answer.text, answer.remedy)
    return ExitCode.SUCCESS if answer.done else ExitCode.FAILED
