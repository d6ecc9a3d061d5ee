"""A job that follows a log, whose driver runs beside the test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from e2e.support import IN_PROCESS, Process, finish, kill_driver, start

SECONDS = 90.0


class FollowingJob:
    """The job file is written by subclasses. ``process``: the driver that was started last."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.process: Process | None = None

    def run(self, *more: str, env: Mapping[str, str] | None = None) -> Process:
        words = ("run", "job.conf", "--job-id", "job", *more)
        self.process = start(
            self.home, *words, env=env, program=IN_PROCESS, errors=self.home / "errors", output=self.home / "out"
        )
        return self.process

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            kill_driver(self.process)

    def wait_failed(self) -> str:
        """What a job that must stop says."""
        assert self.process is not None
        finish(self.process, SECONDS)
        return (self.home / "errors").read_text() + (self.home / "out").read_text()
