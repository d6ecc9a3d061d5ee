"""The directory of one job in SEATUNNEL_HOME: its driver, whether that is alive, and its result.

Rules. (1) Only the lock shows whether a driver is alive. (2) A receipt is valid only for the driver that wrote it: a
killed driver has none, even if an earlier one has. (3) A driver that has changed nothing restores the previous state.
(4) Its files are sealed (``checksum_seal.py``): a damaged one is refused with an error, and never misread.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from seatunnel_py.errors import BEGIN_ANEW, ExitCode, SeaTunnelError
from seatunnel_py.runtime.observe.receipt import Receipt
from seatunnel_py.runtime.storage.checksum_seal import DamagedFileError, sealed_json, unsealed_json

CLAIM_SECONDS = 2.0
LOOK_SECONDS = 0.02
_locks: dict[Path, int] = {}  # locks of this process


@dataclass(frozen=True, slots=True)
class JobDirectory:
    """The directory of one job. ``driver``: the driver that has claimed it; writes and deletions of an overtaken driver
    are ignored. ``before``: job.json of the previous driver, which is restored if this one changes nothing."""

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
    def checkpoint_history(self) -> Path:
        return self.path / "checkpoints.jsonl"

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
    def home(self) -> Path:
        """The home that has this job, and what outlives it."""
        return self.path.parent.parent

    @property
    def savepoints(self) -> Path:
        """Directory of all savepoints, which outlive their jobs."""
        return self.home / "savepoints"

    @property
    def running(self) -> bool:
        """Return True if its driver is alive."""
        return is_locked(self.path / "lock")

    @property
    def finished(self) -> bool:
        """Return True if the job has ended with everything done, and no run goes on with it."""
        return is_finished(self.receipt)

    @property
    def receipt(self) -> dict[str, Any] | None:
        """The receipt of the current driver. None: this driver has written no receipt, even if an earlier driver
        has."""
        return self.receipt_of(self.read("job"))

    def receipt_of(self, about: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """The receipt of the driver in this job.json."""
        receipt = None if about is None else self.read("receipt")
        if about is None or receipt is None:
            return None
        run = receipt.get("run")  # receipts of older versions lack the driver
        ours = run == about.get("driver") if run else self._receipt_written_at() >= about.get("started", 0.0)
        return receipt if ours else None

    @property
    def last_claim(self) -> dict[str, Any] | None:
        """job.json, if it can be read."""
        with suppress(SeaTunnelError):
            return self.read("job")
        return None

    def _receipt_written_at(self) -> float:
        with suppress(FileNotFoundError):
            return (self.path / "receipt.json").stat().st_mtime
        return 0.0

    def hold(self) -> bool:
        """Lock the directory. False: another live driver, whose job is being taken over, still has the lock; try again
        later."""
        if self.path in _locks:
            return True
        descriptor = os.open(self.path / "lock", os.O_WRONLY | os.O_CREAT, 0o600)
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if self.running:  # else a command was looking, and had it for a moment
                    os.close(descriptor)
                    return False
        os.ftruncate(descriptor, 0)
        os.write(descriptor, self.driver.encode())
        _locks[self.path] = descriptor
        return True

    def await_claim(self) -> dict[str, Any] | None:
        """job.json of the driver that has the lock. A driver locks first, names itself in the lock next, and writes
        job.json last: waits for that, but at most `CLAIM_SECONDS`, because a driver that is taken over keeps its
        lock."""
        until = time.monotonic() + CLAIM_SECONDS
        while time.monotonic() < until and self.running and not self._holder_has_claimed():
            time.sleep(LOOK_SECONDS)
        return self.last_claim

    def _holder_has_claimed(self) -> bool:
        """A dead driver's claim is an older one, even if the lock still names it."""
        about = self.last_claim or {}
        return self._lock_holder() in ("", about.get("driver", "")) and not _process_has_ended(about)

    def _lock_holder(self) -> str:
        """Driver that locked last; empty if an older version did."""
        with suppress(OSError):
            return (self.path / "lock").read_text()
        return ""

    def end(self, receipt: Receipt) -> None:
        """Write the receipt, which ends the job."""
        if self.ours:
            write_json(self.path / "receipt.json", receipt.to_plain())

    def gave_up(self, why: str, *, changed: bool) -> None:
        """End this driver with an error, and without a receipt. If it has changed nothing, restore the previous
        state."""
        if self.ours:
            before = None if changed else self.before
            about = {**(self.read("job") or {}), "failed": why} if before is None else before
            write_json(self.path / "job.json", about)

    @property
    def counters(self) -> dict[str, Any] | None:
        """Counts of the current driver, or of a dead one until its death; None: it has not written any."""
        return self.counters_of(self.read("job"))

    def counters_of(self, about: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """The counts of the driver in this job.json."""
        counters = None if about is None else self.read("counters")
        ours = about is not None and counters is not None and counters.get("run") == about.get("driver")
        return counters if ours else None

    def keep_counters(self, counters: Mapping[str, Any], tables: Sequence[str]) -> bool:
        """Write the counts of this driver; ``tables``: their entries as JSON texts. False: another driver has the job
        now."""
        if not self.ours:
            return False
        write_json(self.path / "counters.json", counters, {"tables": tables}, durable=False)
        return True

    def keep_plan(self, plan: Mapping[str, Any]) -> None:
        """Write the plan, for comparison by a later run."""
        if self.ours:
            write_json(self.path / "plan.json", plan)

    @property
    def has_plan(self) -> bool:
        """Return True if a driver of this job has started here."""
        return (self.path / "plan.json").exists()

    @property
    def has_checkpoints(self) -> bool:
        """Return True if a driver has written checkpoints or a journal here."""
        return any(self.checkpoints.glob("*/[!.]*"))

    def clear(self, *, finished: bool = True, rows: bool = True, plan: bool = False) -> None:
        """Delete files that only an unfinished job needs: its store, and its exchanged ``rows``;
        ``plan``: also the plan, because the job has not started."""
        unwanted = [*([self.checkpoints, self.journal] if finished else []), *([self.exchange] if rows else [])]
        if self.ours:
            for path in unwanted:
                shutil.rmtree(path, ignore_errors=True)
            if plan:
                (self.path / "plan.json").unlink(missing_ok=True)
        self.release()

    def forget(self) -> None:
        """Delete the directory of a job that has not started, so that its id is free again."""
        if self.ours:
            shutil.rmtree(self.path, ignore_errors=True)
        self.release()

    @property
    def ours(self) -> bool:
        """Return True if this driver has the job."""
        about = self.read("job")
        return about is not None and about.get("driver") == self.driver

    def release(self) -> None:
        """Give the lock back."""
        if self.path in _locks:
            os.close(_locks.pop(self.path))

    @property
    def job_file(self) -> Path:
        """The job file as named on the command line."""
        return Path((self.read("job") or {})["job_file"])

    def read(self, name: str) -> dict[str, Any] | None:
        """Read ``job``, ``plan`` or ``receipt``; None if it does not exist. Raises SeaTunnelError for a damaged
        file."""
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
    "removal": (),
    "run_plan": (),
    "run_lineage": (),
    "openlineage": (),
    "receipt": (
        "job_id", "job_name", "tables", "seconds", "notes", "stopped_by", "state", "exit_code", "totals", "driver",
        "run",
    ),
}  # fmt: skip
_WAYS_ON = {
    "job": f"give it back from a copy, or remove it: `--restore latest` writes it again; or {BEGIN_ANEW}",
    "plan": f"give it back from a copy; or {BEGIN_ANEW}",
    "counters": "remove it: a running driver writes it again",
    "run_plan": "remove it: the next run writes it again",
    "run_lineage": "remove it: the next run writes it again",
    "openlineage": "remove it: the next run is then reported under a new id",
    "removal": "delete its directory, and its checkpoints elsewhere, by hand",
    "receipt": f"give it back from a copy, or remove it: the job then counts as not ended; or {BEGIN_ANEW}",
}


def is_locked(file: Path) -> bool:
    """Return True if a living process holds this lock; False also if there is no such file."""
    try:
        descriptor = os.open(file, os.O_WRONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def is_finished(receipt: Mapping[str, Any] | None) -> bool:
    """Return True for the receipt of a job that has ended with everything done, and that no run goes on with."""
    if receipt is None or receipt.get("goes_on"):
        return False
    return (receipt.get("exit_code"), receipt.get("state")) == (ExitCode.SUCCESS, "SUCCESS")


def how_it_ended(about: Mapping[str, Any] | None, receipt: Mapping[str, Any] | None) -> str:
    """How the last driver of a job ended; the end of a sentence about the job."""
    if receipt is not None:
        return f"has ended: {receipt['state']}"
    return "was started, and its driver " + ("failed" if (about or {}).get("failed") else "was killed")


def who_drives(about: Mapping[str, Any] | None) -> str:
    """Process and start time of a driver, to follow "its driver"; empty if an older version did not store them."""
    if not about or "pid" not in about:
        return ""
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(about["started"]))
    return f" (process {about['pid']} on {about['host']}, since {since})"


def _process_has_ended(about: Mapping[str, Any]) -> bool:
    """Return True if the driver ran on this machine and has no process; older versions did not store it."""
    if about.get("host") != socket.gethostname() or "pid" not in about:
        return False
    try:
        with suppress(PermissionError):  # the process of another user
            os.kill(int(about["pid"]), 0)
    except ProcessLookupError:
        return True
    return False


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the file name to errors of writes to an open file, which lack it."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


@contextmanager
def expecting(place: Path) -> Iterator[None]:
    """Explain errors that occur if the job's directory is deleted while the job starts."""
    try:
        yield
    except FileNotFoundError as error:
        raise SeaTunnelError(
            f"{place} was deleted while the job started: {error.filename} cannot be written",
            "keep it while a job runs, or set SEATUNNEL_HOME to a permanent directory; run it again",
        ) from error


def write_json(
    path: Path,
    data: Mapping[str, Any],
    lists: Mapping[str, Sequence[str]] = MappingProxyType({}),
    *,
    durable: bool = True,
) -> None:
    """Write a file atomically, so that a reader never sees half of it; ``lists``: as in ``sealed_json``. Without
    ``durable`` a crash of the machine may lose it."""
    text = sealed_json(f"{path.parent.name}/{path.name}", data, lists)
    with naming(path), expecting(path.parent):
        replace_file(path, text, durable=durable)


def replace_file(path: Path, text: str, *, durable: bool = True, mode: int = 0o600) -> None:
    """Replace a text file atomically; ``durable``: as in ``write_json``."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode), "w") as file:
            file.write(text)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.rename(path)
    except OSError:
        with suppress(OSError):  # the first error is the one to report
            temporary.unlink(missing_ok=True)
        raise
