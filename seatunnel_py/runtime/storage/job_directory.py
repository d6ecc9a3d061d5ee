"""The directory of one job in SEATUNNEL_HOME: who has claimed it, whether that driver lives, and how it ended.

Rules. (1) Liveness is the lock, and nothing else. (2) A receipt counts for the driver that wrote it only: a driver that
was killed has none, whatever the one before it did. (3) A driver that has changed nothing leaves the job as it was. (4)
Its files are sealed (``checksum_seal.py``): one that is damaged is refused in a sentence, and never read as something
else.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seatunnel_py.errors import BEGIN_ANEW, ExitCode, SeaTunnelError
from seatunnel_py.runtime.observe.receipt import Receipt
from seatunnel_py.runtime.storage.checksum_seal import DamagedFileError, sealed_json, unsealed_json

_locks: dict[Path, int] = {}  # what this process holds


@dataclass(frozen=True, slots=True)
class JobDirectory:
    """The directory of one job. ``driver`` names who has claimed it: what one that was overtaken since still wants to
    say or remove is not done. ``before``: job.json of the driver before, which comes back if this one changes
    nothing."""

    job_id: str
    path: Path
    driver: str = ""
    before: Mapping[str, Any] | None = field(default=None, compare=False)

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
        receipt = self.receipt
        return receipt is not None and (receipt.get("exit_code"), receipt.get("state")) == (ExitCode.SUCCESS, "SUCCESS")

    @property
    def receipt(self) -> dict[str, Any] | None:
        """The receipt of the driver that has the job now. None: that one has left none, whatever one before it did."""
        about, receipt = self.read("job"), self.read("receipt")
        if about is None or receipt is None:
            return None
        run = receipt.get("run")  # receipts of older versions name no driver
        ours = run == about.get("driver") if run else self._receipt_written_at() >= about.get("started", 0.0)
        return receipt if ours else None

    @property
    def last_claim(self) -> dict[str, Any] | None:
        """job.json, where it can be read."""
        with suppress(SeaTunnelError):
            return self.read("job")
        return None

    def _receipt_written_at(self) -> float:
        with suppress(FileNotFoundError):
            return (self.path / "receipt.json").stat().st_mtime
        return 0.0

    def hold(self) -> bool:
        """Show that a driver lives. One that takes a job over from a living driver cannot yet (False): it tries again
        later."""
        if self.path in _locks:
            return True
        descriptor = os.open(self.path / "lock", os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        _locks[self.path] = descriptor
        return True

    def end(self, receipt: Receipt) -> None:
        """Write the receipt: from now on the job has ended."""
        if self._ours():
            write_json(self.path / "receipt.json", receipt.to_plain())

    def gave_up(self, why: str, *, changed: bool) -> None:
        """This driver ends with an error, and without a receipt. One that has changed nothing leaves the job as it
        was."""
        if self._ours():
            before = None if changed else self.before
            about = {**(self.read("job") or {}), "failed": why} if before is None else before
            write_json(self.path / "job.json", about)

    @property
    def counters(self) -> dict[str, Any] | None:
        """How far the driver has come that has the job now, or had come when it died; None where it has not said so."""
        about, counters = self.read("job"), self.read("counters")
        ours = about is not None and counters is not None and counters.get("run") == about.get("driver")
        return counters if ours else None

    def keep_counters(self, counters: Mapping[str, Any]) -> None:
        """How far this driver has come."""
        if self._ours():
            write_json(self.path / "counters.json", counters, durable=False)

    def keep_plan(self, plan: Mapping[str, Any]) -> None:
        """What a later run of the job compares its own plan with."""
        if self._ours():
            write_json(self.path / "plan.json", plan)

    @property
    def has_plan(self) -> bool:
        """Whether a driver of this job has begun here."""
        return (self.path / "plan.json").exists()

    @property
    def has_checkpoints(self) -> bool:
        """Whether a driver has taken the job here, or left something there."""
        return any(self.checkpoints.glob("*/[!.]*"))

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
        """``job``, ``plan`` or ``receipt`` as it was written, or None. SeaTunnelError where something else stands
        there."""
        file = self.path / f"{name}.json"
        try:
            return unsealed_json(f"{self.job_id}/{file.name}", file.read_bytes().decode(), _OLD_KEYS[name])
        except FileNotFoundError:
            return None
        except (UnicodeDecodeError, DamagedFileError) as error:
            raise SeaTunnelError(f"{file} is damaged: {error}", _WAYS_ON[name]) from None
        except OSError as error:
            raise SeaTunnelError(f"cannot read {file}: {error.strerror}", "look at its permissions") from None


_OLD_KEYS = {
    "job": (
        "job_id", "driver", "started", "job_file", "job_name", "config", "error_location", "fresh", "savepoint",
        "checkpoint_location", "failed",
    ),
    "plan": ("steps", "pipelines", "store"),
    "counters": (),
    "receipt": (
        "job_id", "job_name", "tables", "seconds", "notes", "stopped_by", "state", "exit_code", "totals", "driver",
        "run",
    ),
}  # fmt: skip
_WAYS_ON = {
    "job": f"give it back from a copy, or remove it: `--restore latest` writes it anew; or {BEGIN_ANEW}",
    "plan": f"give it back from a copy; or {BEGIN_ANEW}",
    "counters": "remove it: a driver that runs writes it anew",
    "receipt": f"give it back from a copy, or remove it: the job then counts as not ended; or {BEGIN_ANEW}",
}


def how_it_ended(about: Mapping[str, Any] | None, receipt: Mapping[str, Any] | None) -> str:
    """What became of the driver of a job that no driver runs now; the end of a sentence about the job."""
    if receipt is not None:
        return f"has ended: {receipt['state']}"
    return "was started, and its driver " + ("failed" if (about or {}).get("failed") else "was killed")


def who_drives(about: Mapping[str, Any] | None) -> str:
    """Which process it is, and since when, to be put behind "its driver"; empty where an older version has not said
    it."""
    if not about or "pid" not in about:
        return ""
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(about["started"]))
    return f" (process {about['pid']} on {about['host']}, since {since})"


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """What is refused while one writes to a file that is open does not say which file that is."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


@contextmanager
def expecting(place: Path) -> Iterator[None]:
    """Where the directory of a job is gone while it begins, people hear so in a sentence."""
    try:
        yield
    except FileNotFoundError as error:
        raise SeaTunnelError(
            f"{place} was removed while the job began: {error.filename} cannot be written",
            "leave it there while a job runs, or set SEATUNNEL_HOME to a directory that stays; run it again",
        ) from error


def write_json(path: Path, data: Mapping[str, Any], *, durable: bool = True) -> None:
    """Whole or not at all: a reader never sees half a file. Not ``durable``: a machine that stops may lose it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with expecting(path.parent):
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with naming(path), expecting(path.parent), os.fdopen(descriptor, "w") as file:
        file.write(sealed_json(f"{path.parent.name}/{path.name}", data))
        file.flush()
        if durable:
            os.fsync(file.fileno())
        temporary.rename(path)
