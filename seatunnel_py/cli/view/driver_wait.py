"""Waits until the driver that has a job is gone, for ``run --wait``."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seatunnel_py.cli.view.terminal import say
from seatunnel_py.errors import ExitCode, SeaTunnelError, first_line
from seatunnel_py.runtime.storage.job_directory import JobDirectory

if TYPE_CHECKING:
    from seatunnel_py.runtime.observe.receipt import Receipt

LOOK_SECONDS = 0.2
FAR_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class DriverWait:
    """``place``: of the job; ``seconds``: how long to wait, None: without a limit."""

    place: JobDirectory
    seconds: float | None

    def performed(self, perform: Callable[[], Receipt], stopped: Callable[[], bool]) -> Receipt:
        """Run the function as soon as no driver has the job. Raises its error if one still has it when the time is
        over, and KeyboardInterrupt once ``stopped`` is true."""
        until = None if self.seconds is None else time.monotonic() + self.seconds
        told = False
        while True:
            try:
                return perform()
            except SeaTunnelError as error:
                if error.exit_code != ExitCode.RUNS_ALREADY or (until is not None and time.monotonic() >= until):
                    raise
                if not told:
                    say(f"waiting: {first_line(error.message)}", err=True)
                    told = True
            self._wait(until, stopped)

    def _wait(self, until: float | None, stopped: Callable[[], bool]) -> None:
        """Wait for the end of a driver here; one on another machine is asked again a little later."""
        far = time.monotonic() + FAR_SECONDS
        while self.place.running or time.monotonic() < far:
            if stopped():
                raise KeyboardInterrupt
            if until is not None and time.monotonic() >= until:
                return
            if self.place.running:
                far = 0.0
            time.sleep(LOOK_SECONDS)
