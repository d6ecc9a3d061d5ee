"""Who keeps the job running: a detached loop that starts the same command again when it has ended by no wish of anybody,
as a service manager does."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from e2e.support import SEATUNNEL, Finished, finish, start

JOB_ID = "soak"
RUN = [*SEATUNNEL, "run", "job.conf", "--job-id", JOB_ID, "--restore", "latest", "--json"]
WISHED = "0|2|130|143"  # done, a job file that is wrong, stopped
STOP_SECONDS = 330.0  # the command itself gives up before
_LOOP = f"""
while :; do
  "$@" >>driver.out 2>>driver.err & echo $! >driver.pid; wait $!; code=$?
  echo "$code" >>driver.exits; rm driver.pid
  case $code in {WISHED}) exit "$code";; esac
  sleep 1
done"""


@dataclass(slots=True)
class Operator:
    """Of one job in ``home``. ``environment`` is added to that of its commands."""

    home: Path
    environment: Mapping[str, str]
    _loop: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        environment = {**os.environ, "SEATUNNEL_HOME": str(self.home / ".seatunnel"), **self.environment}
        self._loop = subprocess.Popen(
            ["sh", "-c", _LOOP, "operator", *RUN],
            cwd=self.home,
            env=environment,
            stderr=subprocess.DEVNULL,  # a shell says who was killed
            start_new_session=True,
        )

    @property
    def driver(self) -> int | None:
        """The driver's process, while there is one."""
        with suppress(OSError, ValueError):
            return int((self.home / "driver.pid").read_text())
        return None

    @property
    def exits(self) -> list[int]:
        """How each driver that has ended did so."""
        with suppress(OSError):
            return [int(line) for line in (self.home / "driver.exits").read_text().split()]
        return []

    @property
    def ended(self) -> bool:
        return self._loop is None or self._loop.poll() is not None

    def stop(self, savepoint: str) -> Finished:
        """As a person does it: behind a savepoint."""
        command = ("jobs", "savepoint", JOB_ID, "--name", savepoint, "--stop")
        return finish(start(self.home, *command, env=self.environment), STOP_SECONDS)

    def ends_within(self, seconds: float) -> bool:
        """Whether the loop ends by then, and its driver with it."""
        assert self._loop is not None
        with suppress(subprocess.TimeoutExpired):
            self._loop.wait(seconds)
        return self.ended

    def kill(self) -> None:
        """After a soak that has failed."""
        if self._loop is not None and self._loop.poll() is None:
            self._loop.kill()
            self._loop.wait()
            if driver := self.driver:
                os.kill(driver, 9)
