"""A job that follows a log, whose driver runs beside the test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from e2e.support import IN_PROCESS, Process, failing, finish, kill_driver, start, wait_alive
from seatunnel_py.runtime.observe import checkpoint_history

SECONDS = 90.0


def is_followed(home: Path) -> bool:
    """Whether the log has had a checkpoint."""
    attempts = checkpoint_history.read(home / ".seatunnel/jobs/job/checkpoints.jsonl", kept=None).attempts
    return any(one.completed and one.table.startswith("log of ") for one in attempts)


class FollowingJob:
    """The job file is written by subclasses. ``process``: the driver that was started last."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.process: Process | None = None
        self._armed = 0

    def run(self, *more: str, env: Mapping[str, str] | None = None) -> Process:
        words = ("run", "job.conf", "--job-id", "job", *more)
        self.process = start(
            self.home, *words, env=env, program=IN_PROCESS, errors=self.home / "errors", output=self.home / "out"
        )
        return self.process

    def run_to_failpoint(self, armed: str, *more: str) -> Process:
        """Run the job with this failpoint, whose hits of earlier runs do not count."""
        self._armed += 1
        return self.run(*more, env=failing(armed, self.home / f"hits{self._armed}"))

    def wait_followed(self) -> None:
        """Wait for the first checkpoint of the log: requests about its tables are refused before."""
        assert self.process is not None
        wait_alive(self.process, "a checkpoint of the log", lambda: is_followed(self.home), SECONDS)

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            kill_driver(self.process)

    def wait_failed(self) -> str:
        """What a job that must stop says."""
        assert self.process is not None
        finish(self.process, SECONDS)
        return (self.home / "errors").read_text() + (self.home / "out").read_text()
