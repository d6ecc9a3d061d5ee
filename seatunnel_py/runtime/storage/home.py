"""SEATUNNEL_HOME: the state of jobs on this machine, one directory per job id.

``jobs/ID/`` holds ``job.json`` (the job as started, without secrets), ``plan.json`` (its steps and tables, for
comparison by the next run), ``receipt.json`` after its end, ``events.jsonl`` (its events), ``job.log`` (output of Spark
and workers), ``control/`` (requests to the running job), and ``exchange/`` while it runs. ``savepoints/``
(``savepoint_store.py``) is beside ``jobs/`` and outlives them. A job id is taken by create-if-absent, so that only one
driver gets it; ``lock`` is locked while the driver runs, so that no other driver uses the directory. Directories are
0700 and files 0600: error texts and exchanged rows may hold personal data (S14, S15).
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seatunnel_py.api.process.private_files import make_private
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.runtime.observe.driver_process import this_process
from seatunnel_py.runtime.storage.job_directory import JobDirectory, how_it_ended, who_drives, write_json

COPIES = "copies"  # directory of job files that commands have generated
HOME_VARIABLE = "SEATUNNEL_HOME"
ID_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
ID_LENGTH_MAX = 100
NO_JOB_ID = "latest"  # because of ``--restore latest``
JOBS_NAMED_MAX = 5


class JobIdError(SeaTunnelError):
    """The job id cannot be used."""


class JobRunsError(JobIdError):
    """The job has a live driver on this machine."""

    exit_code = ExitCode.RUNS_ALREADY


@dataclass(frozen=True, slots=True)
class Home:
    """``SEATUNNEL_HOME``, by default ``.seatunnel`` in the working directory."""

    path: Path

    @classmethod
    def of_environment(cls) -> Home:
        return cls(Path(os.environ.get(HOME_VARIABLE) or ".seatunnel").absolute())

    @property
    def savepoints(self) -> Path:
        return self.path / "savepoints"

    def place(self, job_id: str) -> JobDirectory:
        """The directory of this job id, which may not exist."""
        return JobDirectory(job_id, self.path / "jobs" / job_id)

    def claim(
        self,
        job_id: str | None,
        *,
        fresh: bool,
        about: dict[str, Any],
        restore: bool = False,
        silent: str | None = None,
    ) -> JobDirectory:
        """Take a job id (a new random one if None). Raises JobIdError for an id that was used before, unless the job is
        started again (``fresh``) or resumed (``restore``), and for one with a live driver, except the ``silent`` one
        (``driver_liveness.py``)."""
        chosen = job_id if job_id is not None else new_job_id()
        jobs = self.path / "jobs"
        place = JobDirectory(chosen, jobs / chosen, secrets.token_hex(8))
        require_job_id(chosen, known=lambda: restore and place.path.exists())
        with self._usable():
            make_private(jobs)
            if fresh and not place.running:
                shutil.rmtree(place.path, ignore_errors=True)
            try:
                place.path.mkdir(mode=0o700)
            except FileExistsError:
                if not restore:
                    raise self._taken(place) from None
            place = replace(place, before=place.last_claim)
            if not place.hold() and (silent is None or silent != (place.before or {}).get("driver", "")):
                raise self._taken(place)
            place.exchange.mkdir(mode=0o700, exist_ok=True)
            started = {"job_id": chosen, "driver": place.driver, "started": time.time()}
            started |= this_process()
            write_json(place.path / "job.json", {**started, **about})
        return place

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SeaTunnelError(
                f"cannot keep jobs in {self.path}: {error.strerror or error}",
                f"set {HOME_VARIABLE} to a directory that can be written to and has room",
            ) from error

    def _taken(self, place: JobDirectory) -> JobIdError:
        if place.running:
            return JobRunsError(
                f"the job {place.job_id!r} is running{who_drives(place.await_claim())}",
                f"let it end, end it with `seatunnel jobs cancel {place.job_id}`, or use another `--job-id`; one that "
                "hangs is taken over by `--restore latest`",
            )
        state = how_it_ended(place.last_claim, place.receipt)
        remedy = "`--fresh` forgets it and starts from nothing, beside rows that are visible already"
        if not self.finished(place.job_id):
            remedy = f"`--restore latest` goes on where it stood; {remedy}"
        return JobIdError(f"the job {place.job_id!r} {state}", f"{remedy}; `--job-id` with another name keeps both")

    def require_no_driver(self, place: JobDirectory) -> None:
        """Raise JobRunsError if a driver of the job is alive on this machine."""
        if place.running:
            raise self._taken(place)

    def finished(self, job_id: str) -> bool:
        """Return True if the job has ended with everything done."""
        return self.place(job_id).finished

    def jobs(self) -> Iterator[JobDirectory]:
        """All known jobs, oldest first."""
        directory = self.path / "jobs"
        found: list[tuple[float, Path]] = []
        for path in directory.iterdir() if directory.is_dir() else ():
            with suppress(FileNotFoundError):  # it has just been deleted
                if path.is_dir() and not path.name.startswith("."):  # no job id begins like that
                    found.append((path.stat().st_mtime, path))
        for _, path in sorted(found):
            yield JobDirectory(path.name, path)

    def job(self, job_id: str) -> JobDirectory:
        """A known job. Raises JobIdError with the known ids near it."""
        for place in self.jobs():
            if place.job_id == job_id:
                return place
        from seatunnel_py.config.resolve import did_you_mean  # with pydantic

        known = [place.job_id for place in self.jobs()]
        newest = f"newest jobs: {', '.join(known[-JOBS_NAMED_MAX:])}" if known else "no job has run there"
        raise JobIdError(f"there is no job {job_id!r} in {self.path}", f"{did_you_mean(job_id, known)}{newest}")


def new_job_id() -> str:
    """An id for a job that the user has not named."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"


def require_job_id(job_id: str, known: Callable[[], bool] = lambda: False) -> None:
    """Raise JobIdError for an invalid job id. ``known``: returns True for a job of an older release, which accepted
    more ids."""
    if not job_id or len(job_id) > ID_LENGTH_MAX or not ID_CHARACTERS.issuperset(job_id) or job_id.startswith("."):
        raise JobIdError(f"{job_id!r} is not a job id", "use letters, digits, '-', '_' and '.'")
    if (job_id.startswith("-") or job_id == NO_JOB_ID) and not known():
        reads = "means the newest checkpoint" if job_id == NO_JOB_ID else "reads as an option"
        raise JobIdError(f"{job_id!r} is not a job id: it {reads}", "choose an id that starts with a letter or a digit")
