"""Implements ``seatunnel run``: shows progress while the job runs, and a receipt at the end."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from seatunnel_py import app
from seatunnel_py.cli import debugging
from seatunnel_py.cli.memory_trim import keep_small
from seatunnel_py.cli.view import result_file
from seatunnel_py.cli.view.driver_wait import DriverWait
from seatunnel_py.cli.view.problems import failed_plain, refused_plain, tell_plain, tell_problems, tell_refused
from seatunnel_py.cli.view.terminal import say, say_json, say_rendered
from seatunnel_py.errors import ExitCode, JobFileError, Problem, SeaTunnelError
from seatunnel_py.runtime.storage.home import Home

if TYPE_CHECKING:
    from seatunnel_py.runtime.observe.events import JobEvent
    from seatunnel_py.runtime.observe.receipt import Receipt

NOTHING_STARTED = "stopped before anything was started"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The request as given on the command line."""

    job: Path
    variables: Mapping[str, str]
    job_id: str | None
    fresh: bool
    restore: str | None
    only: tuple[str, ...]
    as_json: bool
    accept_changes: bool = False
    here: bool = False
    takes_over: bool = True
    reset: tuple[str, ...] = ()
    waits: bool = False
    timeout: float | None = None


def run(request: RunRequest) -> int:
    """Run a job; return the exit code."""
    _require_waitable(request)
    options = app.RunOptions(
        request.variables,
        request.job_id,
        request.fresh,
        request.restore,
        request.only,
        accept_changes=request.accept_changes,
        local=request.here,
        takes_over=request.takes_over and not request.waits,
        reset=request.reset,
    )
    home = Home.of_environment()
    return performed(
        home,
        lambda listen, arm: app.run(request.job, options, home, listen, arm),
        lambda job_id: _again(request, job_id),
        as_json=request.as_json,
        quiet=request.here,
        wait=DriverWait(home.place(request.job_id), request.timeout) if request.waits and request.job_id else None,
    )


def _require_waitable(request: RunRequest) -> None:
    """Raises JobFileError for options that contradict each other."""
    again = request.job_id is not None and (request.fresh or request.restore == app.LATEST)
    if request.waits and not again:
        remedy = "add --job-id ID, and --restore latest (or --fresh)"
        raise JobFileError((Problem("--wait waits for the driver of a job that runs", "command line", remedy=remedy),))
    if request.timeout is not None and not request.waits:
        remedy = "add --wait; to end a run after some time: `timeout 4h seatunnel run ...`"
        raise JobFileError((Problem("--timeout limits the time to wait", "command line", remedy=remedy),))


def restore(
    job_id: str, file: Path | None, variables: Mapping[str, str], *, accept_changes: bool, as_json: bool
) -> int:
    """Resume a job with its previous job file, or another one, unless its driver is running; return the exit code."""
    path = file or Home.of_environment().job(job_id).job_file
    return run(RunRequest(path, variables, job_id, False, app.LATEST, (), as_json, accept_changes, takes_over=False))


def performed(
    home: Home,
    perform: Callable[[Any, Any], Receipt],
    again: Callable[[str], str],
    *,
    as_json: bool,
    quiet: bool = False,
    wait: DriverWait | None = None,
) -> int:
    """Run a function that returns a receipt, show its progress (unless ``quiet``) and its outcome; return the exit
    code. ``again`` is the command that resumes the job."""
    keep_small()
    result_file.begin()
    stopper = _Stopper()
    try:
        with _signals(stopper), _progress(quiet=as_json or quiet) as listen:
            work = partial(perform, listen, stopper.arm)
            receipt = work() if wait is None else wait.performed(work, stopper.stopped)
    except KeyboardInterrupt:
        _tell({"state": "STOPPED", "message": NOTHING_STARTED, "remedy": ""}, as_json=as_json, err=True)
        return stopper.exit_code
    except JobFileError as error:
        result_file.keep(failed_plain(error))
        return tell_plain(error) if as_json else tell_problems(error)
    except app.NothingToDoError as nothing:
        _tell({"state": "SUCCESS", "message": nothing.message, "remedy": ""}, as_json=as_json)
        return ExitCode.SUCCESS
    except SeaTunnelError as error:
        result_file.keep(refused_plain(error))
        if not as_json:
            raise
        return tell_refused(error)
    plain = receipt.to_plain()
    result_file.keep(plain)
    if as_json:
        say_json(plain)
    else:
        from seatunnel_py.cli.view.receipt_view import receipt_text

        say_rendered(receipt_text(receipt, home))
    if debugging.wanted():
        debugging.tell_traces(home.job(receipt.job_id).events)
    if receipt.exit_code != ExitCode.SUCCESS and receipt.can_go_on and not as_json:
        say(f"go on with it: {again(receipt.job_id)}")
    return receipt.exit_code


def _tell(ended: Mapping[str, str], *, as_json: bool, err: bool = False) -> None:
    """Show an end without a receipt."""
    result_file.keep(ended)
    say_json(ended) if as_json else say(ended["message"], err=err)


def _progress(*, quiet: bool) -> AbstractContextManager[Callable[[JobEvent], None]]:
    """Loads what draws only when it draws: the JVM starts that much sooner."""
    if quiet:
        return nullcontext(lambda event: None)
    from seatunnel_py.cli.view.progress import progress

    return progress()


def _again(request: RunRequest, job_id: str) -> str:
    """The command to type. The reader fills in variables: one may be a secret, and this text may end up in a log."""
    words = ["seatunnel", "run", str(request.job), *(["-i", "…"] if request.variables else [])]
    words += [word for table in request.only for word in ("--only", table)]
    return shlex.join([*words, "--job-id", job_id, "--restore", "latest"]).replace("'…'", "…")


class _Stopper:
    """Turns the first signal into a clean stop; the second one ends the process at once.

    Never raises inside the signal handler: it may interrupt an import, which would then hold its lock forever. A signal
    that arrives before there is a driver is kept until one exists.
    """

    def __init__(self) -> None:
        self._driver: Any = None
        self.exit_code = 0

    def arm(self, driver: Any) -> None:
        """Register the driver: everything is planned and nothing started. Raises KeyboardInterrupt if a signal came
        before."""
        self._driver = driver  # first: a signal may come between these two lines
        if self.exit_code:
            raise KeyboardInterrupt

    def stopped(self) -> bool:
        """Whether a signal has come."""
        return bool(self.exit_code)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        self.exit_code = ExitCode.INTERRUPTED if number == signal.SIGINT else ExitCode.TERMINATED
        os.write(2, b"stopping; once more aborts\n")  # not a stream: the signal may have interrupted its write
        if self._driver is not None:
            self._driver.stop(self.exit_code)


@contextmanager
def _signals(stopper: _Stopper) -> Iterator[None]:
    previous = {number: signal.signal(number, stopper) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
