"""One run as the server knows it: from the lock and the files of its directory, read again when they change."""

from __future__ import annotations

import os
import stat
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.observe.driver_process import DriverProcess
from seatunnel_py.runtime.observe.other_machine import is_elsewhere
from seatunnel_py.runtime.observe.run_record import outcome_of
from seatunnel_py.runtime.observe.run_summary import KILLED, NOT_ENDED, UNREADABLE, state_of, summary
from seatunnel_py.runtime.storage.job_directory import JobDirectory

FILES = ("job.json", "receipt.json", "counters.json")
LOOKS_MAX = 3
Signature = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run with its newest driver. ``state``: as ``seatunnel jobs list`` shows it; ``NOT ENDED``: its driver is on
    another machine, which alone knows whether it is alive. ``started``, ``seconds``: of that driver, None: not known,
    or it runs. ``tables``: how many are in each state. ``exit_code``: of its receipt. ``outcome``: as in metrics, empty
    while it runs. ``failed``: why the driver ended without a receipt. ``fault``: why the directory cannot be read.
    ``cause``: of the first failure. ``position``: number of completed checkpoints. ``seen``: when it was last seen, if
    the home is away, else 0."""

    run: str
    state: str
    job_name: str = ""
    job_file: str = ""
    started: float = 0.0
    seconds: float | None = None
    rows_read: int | None = None
    rows_read_this_run: int | None = None
    tables: Mapping[str, int] | None = None
    exit_code: int | None = None
    outcome: str = ""
    driver: str = ""
    process: DriverProcess | None = None
    host: str = ""
    failed: str = ""
    fault: str = ""
    cause: str = ""
    position: str = ""
    has_counters: bool = False
    seen: float = 0.0

    @property
    def alive(self) -> bool:
        """Whether a driver holds the lock, or may be at work on another machine."""
        return not self.outcome and self.state != UNREADABLE


def signature(path: Path) -> Signature:
    """Identity of the files of a run: it differs after each of them is replaced."""
    found: list[tuple[int, int, int] | None] = []
    folder = str(path)  # ten thousand runs: a path object for each file takes a third of the time
    for name in FILES:
        try:
            about = os.stat(f"{folder}/{name}")  # noqa: PTH116
        except OSError:
            found.append(None)
        else:
            found.append((about.st_mtime_ns, about.st_ino, about.st_size))
    return tuple(found)


def row_of(place: JobDirectory, *, shared: bool = False) -> tuple[RunRow, Signature]:
    """Read a run; ``shared``: other machines may have its directory, too. A directory that cannot be read gives a row
    with the reason. The signature is that of before: files that are replaced meanwhile are read at the next look."""
    before = signature(place.path)
    for _ in range(LOOKS_MAX):
        try:
            row = _read(place, shared=shared)
            # A driver locks first and writes job.json next: without a second look a new one could seem killed.
            settled = row.state != KILLED or not place.running
        except SeaTunnelError as error:
            row, settled = _broken(place, error.message), True
        except OSError as error:
            row, settled = _broken(place, f"cannot read {error.filename or place.path}: {error.strerror}"), True
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            what = f"{type(error).__name__}: {error}"
            row, settled = _broken(place, f"another version has written {place.path}: {what}"), True
        if settled:
            break
    return row, before


def _read(place: JobDirectory, *, shared: bool) -> RunRow:
    if not stat.S_ISDIR(place.path.lstat().st_mode):
        return _broken(place, f"{place.path} is not a directory of a job; a link is not followed")
    alive = place.running
    about = place.read("job") or {}
    receipt = None if alive else place.receipt_of(about)
    counters = place.counters_of(about) if receipt is None else None
    told = receipt or counters
    state = state_of(about, receipt, alive=alive, far=shared and is_elsewhere(about))
    alive = alive or state == NOT_ENDED
    line = summary(place.job_id, state, about, told, alive=alive, now=0.0)
    tables = (told or {}).get("tables", ())
    return RunRow(
        place.job_id,
        state,
        sys.intern(str(line["job_name"])),
        sys.intern(str(line["job_file"])),
        float(line["started"]),
        None if alive else line["seconds"],
        line["rows_read"],
        line["rows_read_this_run"],
        dict(Counter(sys.intern(str(table["state"])) for table in tables)) if told else None,
        None if receipt is None else int(receipt["exit_code"]),
        "" if alive else sys.intern(outcome_of(about, receipt)),
        str(about.get("driver", "")),
        DriverProcess.of(about),
        sys.intern(str(about.get("host", ""))),
        str(about.get("failed", "")),
        cause=_cause(about, receipt),
        position=str((counters or {}).get("checkpoints", {}).get("completed", "")),
        has_counters=counters is not None,
    )


def _cause(about: Mapping[str, Any], receipt: Mapping[str, Any] | None) -> str:
    """The first failure of a run, for comparison with that of the next one."""
    causes = (table.get("cause") for table in (receipt or {}).get("tables", ()))
    first = next((cause for cause in causes if cause), None)
    return str(about.get("failed", "")) if first is None else f"{first['error_type']}: {first['message']}"


def _broken(place: JobDirectory, why: str) -> RunRow:
    return RunRow(place.job_id, UNREADABLE, fault=why)
