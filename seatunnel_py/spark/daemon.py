"""Python workers fork from this daemon, which has already imported what every unit needs.

Imports only: no client, no thread, no connection may exist before a fork (native clients hang in the child).
What is imported here a new worker has at once; a worker that replaces a killed one saves about a second.
"""

from __future__ import annotations

import contextlib
import importlib
import os

PRELOAD_VARIABLE = "SEATUNNEL_PRELOAD"  # module names, separated by commas


def preload() -> None:
    """Import what units use. A module that is not there is the unit's problem, where it gets a proper message."""
    plugins = filter(None, os.environ.get(PRELOAD_VARIABLE, "").split(","))
    for name in ("pyspark.worker", "seatunnel_py.work.run", "seatunnel_py.work.segments", *plugins):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


if __name__ == "__main__":
    from pyspark.daemon import manager

    preload()
    manager()
