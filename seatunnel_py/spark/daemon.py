"""Python workers fork from this daemon, which has already imported what every unit needs.

Imports only: no client, no connection may exist before a fork (native clients hang in the child), and no thread but
those that their library restarts by itself in a child, as Arrow's allocator does. What is imported here a new worker
has at once; a worker that replaces a killed one saves about a second.
"""

from __future__ import annotations

import contextlib
import importlib
import os

PRELOAD_VARIABLE = "SEATUNNEL_PRELOAD"  # module names, separated by commas
ALWAYS = ("pyspark.worker", "seatunnel_py.spark.pack_task", "seatunnel_py.work.segments")


def preload() -> None:
    """Import what units use. A module that is not there is the unit's problem, where it gets a proper message."""
    # A pool of threads for linear algebra, one a core, is started by an import of numpy; units never use it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    plugins = filter(None, os.environ.get(PRELOAD_VARIABLE, "").split(","))
    for name in (*ALWAYS, *plugins):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


if __name__ == "__main__":
    from pyspark.daemon import manager

    preload()
    manager()
