"""The metrics of all jobs of a home, from the live records of their runs."""

from __future__ import annotations

import platform
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from seatunnel_py import __version__
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.observe.metric_series import HomeFacts, series
from seatunnel_py.runtime.observe.metric_text import Metric
from seatunnel_py.runtime.observe.run_record import RunRecord, run_record
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.runtime.storage.job_directory import JobDirectory


def metrics_of(
    home: Home,
    places: Iterable[JobDirectory],
    *,
    whole: bool,
    read: Callable[[JobDirectory], RunRecord | None] | None = None,
) -> Sequence[Metric]:
    """The metrics of these jobs, in one pass over their files; ``whole``: with those of the home; ``read``: as
    ``record_of``."""
    states: Counter[str] = Counter()
    runs = []
    for record in map(read or record_of, places):
        if record is None:
            states["unreadable"] += 1
            continue
        states["running" if record.alive else record.outcome] += 1
        runs.append(record)
    facts = HomeFacts(_versions(), states, shutil.disk_usage(_existing(home.path)).free) if whole else None
    return series(runs, time.time(), facts)


def record_of(place: JobDirectory) -> RunRecord | None:
    """The record of a job; None for one that cannot be read, which must not hide the others."""
    try:
        if place.path.is_symlink():
            return None
        about, alive = place.read("job"), place.running
        receipt = None if alive else place.receipt_of(about)
        return run_record(place.job_id, about or {}, place.counters_of(about), receipt, alive=alive)
    except (SeaTunnelError, OSError, KeyError, TypeError, ValueError, AttributeError):  # or of a newer version
        return None


def _versions() -> dict[str, str]:
    try:
        spark = version("pyspark")
    except PackageNotFoundError:
        spark = "none"
    return {"version": __version__, "python": platform.python_version(), "spark": spark}


def _existing(path: Path) -> Path:
    return next(one for one in (path, *path.parents) if one.exists())
