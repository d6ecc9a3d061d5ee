"""Runs the daemon from which Python workers fork; it has already imported the modules that every unit needs.

Imports only: no client and no connection may exist before a fork, for native clients hang in the child. No thread may
exist, except threads that their library restarts in a child, as Arrow's allocator does. A new worker has these imports
at once; a worker that replaces a killed one saves about a second.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import sys
import types
import warnings
from collections.abc import Sequence
from pathlib import Path

from seatunnel_py.spark.app.early_daemon import CALLED, hand_over, serve

PRELOAD_VARIABLE = "SEATUNNEL_PRELOAD"  # module names, separated by commas
EGRESS = "SEATUNNEL_EGRESS"  # the server's rules of addresses, if there are any
PANDAS_VARIABLE = "SEATUNNEL_PANDAS"  # "1" if the job has queries, whose stages may use it
_M_ARENA_MAX = -8  # of glibc's malloc.h
ALWAYS = (
    "pyspark.worker",
    "seatunnel_py.spark.packs.pack_task",
    "seatunnel_py.spark.packs.resident_worker_task",
    "seatunnel_py.spark.packs.slot_task",  # multiprocessing alone is 8 ms of each worker's first unit
    "seatunnel_py.work.segments",
)


def preload() -> None:
    """Import the modules that units use. A missing module is left to the unit that needs it, which reports it
    properly."""
    # Importing numpy starts a pool of threads for linear algebra, one a core; units never use it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    share_one_heap()
    gc.disable()
    plugins = filter(None, os.environ.get(PRELOAD_VARIABLE, "").split(","))
    for name in (*ALWAYS, *plugins):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if os.environ.get(PANDAS_VARIABLE) != "1":
        arrow_without_pandas()
    gc.enable()
    gc.freeze()  # modules are not garbage: a worker that scanned them spent a tenth of its time on that


def share_one_heap() -> None:
    """Let Arrow and all threads allocate from the one heap of the C library, before Arrow is imported. Arrow's own
    allocator and further arenas each keep pages that were freed: a worker that follows a log took 15 % more processor
    time with them, and its peak grew with the length of a transaction."""
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    with contextlib.suppress(OSError, AttributeError):  # a C library without mallopt has no arenas to limit
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def from_directories(path: Sequence[str]) -> list[str]:
    """Return Python's path without the zips of sources that Spark puts in front, if the same packages exist in
    directories. From a zip each daemon compiles all of pyspark again, and a job waits a second for that."""
    found: list[str] = []
    for entry in path:
        where = Path(entry)
        if where.suffix == ".jar" and where.name.startswith("spark-core_"):
            continue  # it holds no Python, and finding that out reads 6,000 names
        if where.suffix != ".zip" or where.parts[-3:-1] != ("python", "lib"):
            found.append(entry)
            continue
        home, package = where.parents[2], where.name.partition("-")[0].removesuffix(".zip")
        installed = home.name == "pyspark" and str(home.parent) in path  # by pip: beside the other packages
        if installed and (home.parent / package / "__init__.py").is_file():
            continue
        unpacked = (home / "python" / package / "__init__.py").is_file()  # Spark's own distribution
        found.append(str(home / "python") if unpacked else entry)
    return found


def arrow_without_pandas() -> None:
    """At its first conversion from Python, Arrow looks for pandas and imports it: half a second and 60 MB a worker,
    unused by units. PySpark looks only once; hide pandas at that moment."""
    if "pandas" in sys.modules:
        return
    import pyarrow

    stand_in = types.ModuleType("pandas")
    stand_in.__version__ = "0.0"  # type: ignore[attr-defined]  # too old to be used, says Arrow, and goes without
    sys.modules["pandas"] = stand_in
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pyarrow.array([0])
    finally:
        del sys.modules["pandas"]


def main() -> None:
    """Run Spark's daemon, or the early one to which Spark's hands its work."""
    early = sys.argv[1:] == [CALLED]
    if not early and hand_over():
        return
    sys.path[:] = from_directories(sys.path)
    if EGRESS in os.environ:
        from seatunnel_py.api.process.egress.egress_guard import watch

        watch()

    from pyspark.daemon import manager

    if early:
        serve(preload)
    else:
        preload()
    manager()


if __name__ == "__main__":
    main()
