"""SEATUNNEL_HOME: what is known of jobs on this machine, one directory per job id.

``jobs/ID/`` holds ``job.json`` (what was started, secrets left out), ``plan.json`` (its steps and tables, for the next
run to compare with), ``receipt.json`` once it ended, ``events.jsonl``
(what happened), ``job.log`` (what Spark and the workers said), ``control/`` (what was asked of it while it ran), and
``exchange/`` while it runs. ``savepoints/`` (``savepoint.py``) stands beside ``jobs/`` and outlives them. A job id is
taken by create-if-absent, so that two drivers cannot both get it; ``lock`` is held while the driver lives, so that
nobody takes a running job's place away.
Directories are 0700 and files 0600: error texts and exchanged rows may hold personal data (S14, S15).
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.runtime.receipt import Receipt

HOME_VARIABLE = "SEATUNNEL_HOME"
ID_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
ID_LENGTH_MAX = 100
JOBS_NAMED_MAX = 5

_locks: dict[Path, int] = {}  # what this process holds


class JobIdError(SeaTunnelError):
    """The job id cannot be used as asked."""


@dataclass(frozen=True, slots=True)
class JobPlace:
    """The directory of one job. ``driver`` names who has claimed it: what one that was overtaken since still wants to
    say or remove is not done."""

    job_id: str
    path: Path
    driver: str = ""

    @property
    def log(self) -> Path:
        return self.path / "job.log"

    @property
    def events(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def exchange(self) -> Path:
        return self.path / "exchange"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def journal(self) -> Path:
        return self.path / "journal"

    @property
    def savepoints(self) -> Path:
        """Of all jobs: a savepoint outlives the one that it was taken of."""
        return self.path.parent.parent / "savepoints"

    @property
    def running(self) -> bool:
        """Whether a driver lives that has claimed it."""
        try:
            descriptor = os.open(self.path / "lock", os.O_WRONLY)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    @property
    def finished(self) -> bool:
        """Whether it has ended with everything done."""
        receipt = self.read("receipt")
        return receipt is not None and receipt["exit_code"] == ExitCode.SUCCESS

    def hold(self) -> None:
        """Show that a driver lives. One that takes a job over from a living driver cannot yet: it tries again later."""
        if self.path in _locks:
            return
        descriptor = os.open(self.path / "lock", os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return
        _locks[self.path] = descriptor

    def end(self, receipt: Receipt) -> None:
        """Write the receipt: from now on the job has ended."""
        if self._ours():
            _write_json(self.path / "receipt.json", receipt.to_plain())

    def keep_plan(self, plan: Mapping[str, Any]) -> None:
        """What a later run of the job compares its own plan with."""
        if self._ours():
            _write_json(self.path / "plan.json", dict(plan))

    @property
    def has_plan(self) -> bool:
        """Whether a driver of this job has begun here."""
        return (self.path / "plan.json").exists()

    def clear(self, *, finished: bool = True, rows: bool = True, plan: bool = False) -> None:
        """Remove what only a job needs that runs or can go on: its store, and the ``rows`` that it has exchanged;
        ``plan``: nothing was begun, so that there is nothing to compare with either."""
        unwanted = [*([self.checkpoints, self.journal] if finished else []), *([self.exchange] if rows else [])]
        if self._ours():
            for path in unwanted:
                shutil.rmtree(path, ignore_errors=True)
            if plan:
                (self.path / "plan.json").unlink(missing_ok=True)
        self._let_go()

    def forget(self) -> None:
        """Nothing was started: the job id is free again."""
        if self._ours():
            shutil.rmtree(self.path, ignore_errors=True)
        self._let_go()

    def _ours(self) -> bool:
        about = self.read("job")
        return about is not None and about.get("driver") == self.driver

    def _let_go(self) -> None:
        if self.path in _locks:
            os.close(_locks.pop(self.path))

    @property
    def job_file(self) -> Path:
        """What it was begun with, as the command line named it."""
        return Path((self.read("job") or {})["job_file"])

    def read(self, name: str) -> dict[str, Any] | None:
        """``job`` or ``receipt`` as it was written, or None. SeaTunnelError where something else stands there."""
        file = self.path / f"{name}.json"
        try:
            loaded = json.loads(file.read_text())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise SeaTunnelError(f"cannot read {file}: {error}", f"remove {self.path} to forget the job") from None
        if not isinstance(loaded, dict):
            raise SeaTunnelError(f"{file} is no {name} of a job", f"remove {self.path} to forget the job")
        return loaded


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

    def place(self, job_id: str) -> JobPlace:
        """Where a job of this id lies, if there is one."""
        return JobPlace(job_id, self.path / "jobs" / job_id)

    def claim(self, job_id: str | None, *, fresh: bool, about: dict[str, Any], restore: bool = False) -> JobPlace:
        """Take a job id (a new random one when None). One that was used before is a JobIdError, unless it is begun
        anew (``fresh``) or gone on with (``restore``)."""
        chosen = job_id if job_id is not None else f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
        if not chosen or len(chosen) > ID_LENGTH_MAX or not ID_CHARACTERS.issuperset(chosen) or chosen.startswith("."):
            raise JobIdError(f"{chosen!r} is no job id", "use letters, digits, '-', '_' and '.'")
        jobs = self.path / "jobs"
        place = JobPlace(chosen, jobs / chosen, secrets.token_hex(8))
        with self._usable():
            for directory in (self.path, jobs):  # the mode of mkdir is not that of the parents it makes
                directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            if fresh and not place.running:
                shutil.rmtree(place.path, ignore_errors=True)
            try:
                place.path.mkdir(mode=0o700)
            except FileExistsError:
                if not restore:
                    raise self._taken(place) from None
            place.hold()
            place.exchange.mkdir(mode=0o700, exist_ok=True)
            started = {"job_id": chosen, "driver": place.driver, "started": time.time()}
            _write_json(place.path / "job.json", {**started, **about})
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

    def _taken(self, place: JobPlace) -> JobIdError:
        if place.running:
            return JobIdError(
                f"the job {place.job_id!r} is running",
                "let it end, use another `--job-id`, or take it over with `--restore latest`",
            )
        state = "has ended" if place.read("receipt") else "was started, and its driver was killed"
        remedy = "`--fresh` forgets it and starts anew"
        if not self.finished(place.job_id):
            remedy = f"`--restore latest` goes on where it stood; {remedy}"
        return JobIdError(f"the job {place.job_id!r} {state}", f"{remedy}; `--job-id` with another name keeps both")

    def finished(self, job_id: str) -> bool:
        """Whether a job of this id has ended with everything done."""
        return self.place(job_id).finished

    def jobs(self) -> Iterator[JobPlace]:
        """All known jobs, oldest first."""
        directory = self.path / "jobs"
        found: list[tuple[float, Path]] = []
        for path in directory.iterdir() if directory.is_dir() else ():
            with suppress(FileNotFoundError):  # it was forgotten while we looked
                if path.is_dir():
                    found.append((path.stat().st_mtime, path))
        for _, path in sorted(found):
            yield JobPlace(path.name, path)

    def job(self, job_id: str) -> JobPlace:
        """A known job. Raises JobIdError with the known ids near it."""
        for place in self.jobs():
            if place.job_id == job_id:
                return place
        known = [place.job_id for place in self.jobs()][-JOBS_NAMED_MAX:]
        raise JobIdError(
            f"there is no job {job_id!r} in {self.path}",
            f"newest jobs: {', '.join(known)}" if known else "no job has run there",
        )


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """What is refused while one writes to a file that is open does not say which file that is."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def _write_json(path: Path, data: dict[str, Any]) -> None:
    """Whole or not at all: a reader never sees half a file."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with naming(path), os.fdopen(descriptor, "w") as file:
        file.write(json.dumps(data, default=str))  # in one line: indented it takes ten times as long
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
