"""Decides what has become of a start, from the directory of its run and the end of its process. Pure.

Rules. (1) The directory decides: a new driver in job.json has the run. (2) A receipt wins over the exit code of the
process. (3) Without a new driver ``START_SECONDS`` after a crash of the server nothing was started; while a child of
this server is alive it is still on its way. (4) A directory that cannot be read decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from seatunnel_py.control.launching import ProcessEnd
from seatunnel_py.control.run_row import RunRow
from seatunnel_py.control.store.intents import Intent, IntentState
from seatunnel_py.errors import ExitCode
from seatunnel_py.runtime.observe.run_summary import UNREADABLE

START_SECONDS = 60.0


class ProgressKind(StrEnum):
    """The next step of an intent."""

    WAIT = "wait"
    STARTED = "started"
    ENDED = "ended"
    NOT_STARTED = "not started"


@dataclass(frozen=True, slots=True)
class StartEvidence:
    """``row``: its run, None: it has no directory; ``child``: a process of this server for it is alive; ``end``: how
    that ended; ``waited``: monotonic seconds since this server has known the intent."""

    row: RunRow | None
    child: bool
    end: ProcessEnd | None
    waited: float


@dataclass(frozen=True, slots=True)
class Progress:
    """``exit_code``: of an ended start, None: its driver was killed."""

    kind: ProgressKind
    exit_code: int | None = None
    signal: int | None = None


WAIT = Progress(ProgressKind.WAIT)


def progress(intent: Intent, seen: StartEvidence) -> Progress:
    """The next step of an intent that is STARTING or STARTED."""
    if seen.row is not None and seen.row.state == UNREADABLE:
        return WAIT
    return _of_starting(intent, seen) if intent.state is IntentState.STARTING else _of_started(seen)


def _of_starting(intent: Intent, seen: StartEvidence) -> Progress:
    row = seen.row
    if row is not None and row.driver and row.driver != intent.previous_driver:
        return Progress(ProgressKind.STARTED)
    if row is not None and row.alive:
        return WAIT  # a driver locks before it writes job.json
    if seen.end is not None:
        return Progress(ProgressKind.ENDED, seen.end.exit_code, seen.end.signal)
    if not seen.child and seen.waited >= START_SECONDS:
        return Progress(ProgressKind.NOT_STARTED)
    return WAIT


def _of_started(seen: StartEvidence) -> Progress:
    row = seen.row
    if row is None:
        return WAIT if seen.child else _ended_as(seen.end, None)
    if row.alive:
        return WAIT
    if row.exit_code is not None:
        return Progress(ProgressKind.ENDED, row.exit_code)
    return _ended_as(seen.end, ExitCode.FAILED if row.failed else None)


def _ended_as(end: ProcessEnd | None, otherwise: int | None) -> Progress:
    if end is None:
        return Progress(ProgressKind.ENDED, otherwise)
    return Progress(ProgressKind.ENDED, end.exit_code, end.signal)
