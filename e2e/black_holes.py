"""Jobs with one end behind a connection that swallows everything for a while (P4-F5).

CI takes holes of a few seconds, and time-outs to match; ``make black-holes`` takes those of a minute and of ten, with
the usual time-outs (``SEATUNNEL_HOLE_SECONDS``).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from e2e.support import IN_PROCESS, SEATUNNEL, Finished, Process, finish, start, wait_alive
from tests.servers.black_hole import BlackHole

SHORT = "SEATUNNEL_HOLE_SECONDS" not in os.environ
HOLE_SECONDS = float(os.environ.get("SEATUNNEL_HOLE_SECONDS", "4"))
BEHIND_SECONDS_MAX = 120.0
START_SECONDS_MAX = 180.0
RETRIES = "job.retry.times = 100, job.retry.interval.seconds = 1"
"""Many, so that attempts which a busy machine has cut short too early do not end the job: it has to go on by itself."""
only_long = pytest.mark.skipif(SHORT, reason="CI takes some of the cases; `make black-holes` takes all")
time_limit = pytest.mark.timeout(int(HOLE_SECONDS) + 600)


def begin(home: Path, *more: str, here: bool = False) -> Process:
    """Run the job file of ``home``."""
    return start(home, "run", "job.conf", "--job-id", "job", *more, program=IN_PROCESS if here else SEATUNNEL)


def through(process: Process, hole: BlackHole, arrived: Callable[[], int], everything: int) -> float:
    """Open the hole in the midst of the rows, and close it; returns when. It stays open for its whole time, also where
    the job ends meanwhile."""
    wait_alive(process, "the first rows", lambda: arrived() > 0, START_SECONDS_MAX)
    hole.swallow()
    assert arrived() < everything, "all rows were there before the hole"
    opened = time.monotonic()
    ended_after = None
    while (seconds := time.monotonic() - opened) < HOLE_SECONDS:
        if ended_after is None and process.poll() is not None:
            ended_after = seconds
        time.sleep(0.1)
    hole.heal()
    ending = "" if ended_after is None else f"; the job ended after {ended_after:.0f} s of it"
    print(f"the hole was open for {seconds:.0f} s{ending}")
    return time.monotonic()


def say(what: str, healed: float) -> None:
    """A figure of the campaign."""
    seconds = time.monotonic() - healed
    print(f"{what} {seconds:.0f} s after the healing")
    assert seconds < BEHIND_SECONDS_MAX


def failed_with_its_connection_named(run: Finished, healed: float, names: Sequence[str]) -> None:
    """The other way out."""
    say(f"ended with exit code {run.code}", healed)
    print(run.err)
    assert run.code == 1, run.out + run.err
    causes = [line.partition("FAILED: ")[2] for line in run.err.splitlines() if "FAILED: " in line]
    assert causes and all(any(name in cause for name in names) for cause in causes), run.out + run.err


def ended(home: Path, process: Process, healed: float, names: Sequence[str], *, here: bool = False) -> Finished:
    """The job goes on by itself and ends; or it fails with the connection named, and is gone on with."""
    run = finish(process, BEHIND_SECONDS_MAX)
    if run.code == 0:
        say("ended by itself", healed)
        print(run.err)
        return run
    failed_with_its_connection_named(run, healed, names)
    restored = finish(begin(home, "--restore", "latest", here=here))
    assert restored.code == 0, restored.out + restored.err
    print("gone on with by --restore latest")
    return run
