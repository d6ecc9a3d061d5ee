"""A pack in its worker: the function that Spark calls, and what it needs to know.

The payload travels inside the closure: ``parallelize`` would write it, secrets included, to a file on disk.
"""

from __future__ import annotations

import json
import os
import pickle
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from seatunnel_py.work.chain import Chain
from seatunnel_py.work.journal import JournalWriter
from seatunnel_py.work.run import run_unit
from seatunnel_py.work.unit import Unit

DEADLINE_EXIT = 75  # the exit status of a worker that ended itself because a unit missed its deadline


@dataclass(frozen=True, slots=True)
class Pack:
    """Units, the chains of their vertices, and where the results are also written down."""

    units: tuple[Unit, ...]
    chains: dict[str, Chain]
    journal: Path


def task(pack: Pack) -> partial[Iterator[str]]:
    """The function for ``mapPartitions``. Chains are pickled together, so what they share is sent once."""
    return partial(run_pack, pickle.dumps(pack, protocol=5))


def run_pack(payload: bytes, rows: Iterable[Any]) -> Iterator[str]:
    """Run the units one after the other; yields each result as JSON."""
    for _ in rows:
        pass  # a worker whose input was not read to its end is thrown away by Spark, with its connections
    pack: Pack = pickle.loads(payload)
    journal = JournalWriter(pack.journal)
    try:
        for unit in pack.units:
            journal.started(unit.id)
            with _Deadline(unit.deadline_seconds):
                result = run_unit(unit, pack.chains[unit.id.vertex])
            journal.finished(result)
            yield json.dumps(result.to_plain())
    finally:
        journal.close()


class _Deadline:
    """Ends the process when a unit takes too long: a native call that hangs cannot be interrupted otherwise."""

    def __init__(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, os._exit, args=(DEADLINE_EXIT,))
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
