"""Asks whether the driver of a job is alive, before a command replaces it.

Rules. (0) `run --restore latest` does not ask, because a scheduler must not wait for a lost machine. The new driver
takes the job over, reports that, and the store fences the other driver (I34). (1) A driver that replies to `jobs
restore` or `--fresh` keeps its job: the error names its process and the command that ends it. (2) A driver without a
process is dead, and one with a receipt has ended: neither is asked. (3) A live driver that does not reply hangs, or
cannot reach the shared storage: its job may be taken over, and the store fences it (``job_claim.py``). (4) A driver
that has just started cannot reply yet, and gets more time. (5) The driver's loop replies, without a source or target: a
driver that waits for these counts as alive.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.runtime.control.requests import ControlRequest, RequestKind, RequestStore, request_id
from seatunnel_py.runtime.observe.events import DriverAsked
from seatunnel_py.runtime.storage.checkpoint_store import StoreError
from seatunnel_py.runtime.storage.home import Home, require_job_id
from seatunnel_py.runtime.storage.job_directory import JobDirectory, who_drives
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from seatunnel_py.runtime.storage.open_storage import connect
from seatunnel_py.runtime.storage.shared_job_files import JOB, RECEIPT, SharedJobFiles

ANSWER_SECONDS = 10.0  # a driver reads local requests every 0.5 s, shared ones every 2 s
STARTING_SECONDS = 60.0  # it may still be planning, or waiting for Spark
LOOK_SECONDS = 0.2
Tell = Callable[[DriverAsked], None]


class DriverLivesError(SeaTunnelError):
    """The job has a live driver."""

    exit_code = ExitCode.RUNS_ALREADY


def driver_taken_over(home: Home, job_id: str, tell: Tell) -> str | None:
    """The live driver on this machine whose job is taken over without asking; None: there is none."""
    place = home.place(job_id)
    require_job_id(job_id, known=place.path.exists)
    if not place.running:
        return None
    about = place.last_claim
    _say(tell, f"the job {job_id!r} is running{who_drives(about)}: it is taken over, and that driver ends")
    return _driver(about)


def silent_driver(home: Home, job_id: str, location: str | None, tell: Tell, *, fresh: bool = False) -> str | None:
    """The live driver on this machine that does not reply, so that the job may be taken over; None: there is none.
    Raises DriverLivesError if a driver replies, here or, with a shared ``location``, on another machine; raises
    JobRunsError for ``fresh`` if one is alive here. ``tell`` gets progress messages."""
    place = home.place(job_id)
    require_job_id(job_id, known=lambda: not fresh and place.path.exists())
    if fresh:
        home.require_no_driver(place)
    if place.running:
        return _silent_here(place, tell)
    if location is not None:
        _require_none_far(place, location, tell)
    return None


def _silent_here(place: JobDirectory, tell: Tell) -> str | None:
    control = RequestStore(LocalStorage(place.path))
    while place.running:
        about = place.last_claim or {}

        def still(about: Mapping[str, Any] = about) -> bool:
            return place.running and _driver(place.last_claim) == _driver(about)

        if _answers(control, about, _patience(place, about), still, tell):
            raise _lives(place.job_id, about, "")
        if still():
            _say(tell, f"the driver of {place.job_id!r}{who_drives(about)} does not answer: it is taken over")
            return _driver(about)
    return None


def _require_none_far(place: JobDirectory, location: str, tell: Tell) -> None:
    storage = connect(location, place.job_id)
    try:
        shared, about = SharedJobFiles(storage), None
        with suppress(StoreError):  # damaged: a live driver still replies
            about = shared.read(JOB)
            ran_here = about is not None and _driver(place.last_claim) == _driver(about)
            if about is None or ran_here or shared.read(RECEIPT) is not None:
                return
        if _answers(RequestStore(storage), about or {}, ANSWER_SECONDS, lambda: True, tell):
            raise _lives(place.job_id, about or {}, " --file JOB_FILE")
        _say(tell, f"the driver of {place.job_id!r}{who_drives(about)} does not answer: it is dead, or is taken over")
    finally:
        storage.close()


def _patience(place: JobDirectory, about: Mapping[str, Any]) -> float:
    """Seconds to wait for a reply; a driver that has written counters already reads requests."""
    with suppress(SeaTunnelError):
        if place.counters is None:
            left = float(about.get("started", 0.0)) + STARTING_SECONDS - time.time()
            return max(ANSWER_SECONDS, min(left, STARTING_SECONDS))
    return ANSWER_SECONDS


def _answers(
    control: RequestStore, about: Mapping[str, Any], seconds: float, still: Callable[[], bool], tell: Tell
) -> bool:
    """True if the driver replies in time. The request is removed afterwards."""
    request = ControlRequest(request_id(), RequestKind.LIVES, _driver(about), seconds=seconds)
    began, reported = time.monotonic(), False
    control.ask(request)
    try:
        while still() and (waited := time.monotonic() - began) < seconds:
            if (answer := control.answered(request.id)) is not None and answer.done:
                return True  # a driver that refuses is about to end
            if waited > ANSWER_SECONDS / 4 and not reported:
                reported = True
                _say(tell, f"the job has a driver{who_drives(about)}: it has {seconds:.0f} s to reply")
            time.sleep(LOOK_SECONDS)
    finally:
        control.forget(request.id)
    return False


def _lives(job_id: str, about: Mapping[str, Any], where: str) -> DriverLivesError:
    return DriverLivesError(
        f"the job {job_id!r} is running: its driver{who_drives(about)} works, and taking over would end it",
        f"let it end, or end it: `seatunnel jobs savepoint {job_id} --stop{where}` after a savepoint, `seatunnel jobs "
        f"cancel {job_id}{where}` at once; then go on. Only a driver that does not answer is taken over",
    )


def _say(tell: Tell, text: str) -> None:
    tell(DriverAsked(text, time.time()))


def _driver(about: Mapping[str, Any] | None) -> str:
    return str((about or {}).get("driver", ""))
