"""Python workers fork from this daemon, which has already imported what every unit needs.

Imports only: no client, no connection may exist before a fork (native clients hang in the child), and no thread but
those that their library restarts by itself in a child, as Arrow's allocator does. What is imported here a new worker
has at once; a worker that replaces a killed one saves about a second.
"""

from __future__ import annotations

import contextlib
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
PANDAS_VARIABLE = "SEATUNNEL_PANDAS"  # "1" where the job has queries, whose stages may want it
ALWAYS = ("pyspark.worker", "seatunnel_py.spark.packs.pack_task", "seatunnel_py.work.segments")


def preload() -> None:
    """Import what units use. A module that is not there is the unit's problem, where it gets a proper message."""
    # A pool of threads for linear algebra, one a core, is started by an import of numpy; units never use it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()
    plugins = filter(None, os.environ.get(PRELOAD_VARIABLE, "").split(","))
    for name in (*ALWAYS, *plugins):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if os.environ.get(PANDAS_VARIABLE) != "1":
        arrow_without_pandas()
    gc.enable()
    gc.freeze()  # modules are no garbage: a worker that looked for it among them spent a tenth of its time on that


def from_directories(path: Sequence[str]) -> list[str]:
    """Python's path without the zips of sources that Spark puts in front, where the same lies beside them in
    directories: out of a zip all of pyspark is compiled anew in every daemon, for which a job waits a second."""
    found: list[str] = []
    for entry in path:
        where = Path(entry)
        if where.suffix == ".jar" and where.name.startswith("spark-core_"):
            continue  # no Python is in it, and to see that 6,000 names are read
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
    """Arrow looks for pandas at its first conversion from Python and imports it: half a second and 60 MB a worker,
    for nothing that a unit does. It looks once; that one time there is none to be found."""
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
    """Spark's daemon, or the early one that Spark's will hand its work to."""
    early = sys.argv[1:] == [CALLED]
    if not early and hand_over():
        return
    sys.path[:] = from_directories(sys.path)

    from pyspark.daemon import manager

    if early:
        serve(preload)
    else:
        preload()
    manager()


if __name__ == "__main__":
    main()
