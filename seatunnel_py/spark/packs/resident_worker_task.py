"""Runs a resident worker: a Spark task that holds the readers of one subtask, and runs its units as the driver sends
them.

The worker connects to the driver, names itself, and then takes a unit and returns a result, until the driver hangs up.
Units are the same as everywhere: atomic, with a deadline, barriers pass between two of them. Only the resources that a
source has opened stay open. There is no journal: at most one unit is running, and its result is lost with the
connection.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection
from typing import Any

from seatunnel_py.spark.packs.pack_task import chains_of, result_of, take_all
from seatunnel_py.spark.packs.worker_directory import enter_directory
from seatunnel_py.spark.packs.worker_listener import called, heard
from seatunnel_py.work.reader_cache import ReaderCache
from seatunnel_py.work.unit import Unit, UnitResult


def run_resident(sent: bytes, address: tuple[str, int], key: bytes, name: str, rows: Iterable[Any]) -> Iterator[str]:
    """Make a function for ``mapPartitions``: run units of one chain, which was ``sent``, until none is sent any more;
    yield nothing. ``key`` authenticates both ends to each other."""
    take_all(rows)
    enter_directory()
    residence = ReaderCache()
    with called(address, key, name) as line:

        def say(result: UnitResult) -> None:
            line.send_bytes(json.dumps(result.to_plain()).encode())

        chains = chains_of(sent)
        try:
            for unit in _units(line):
                say(result_of(unit, chains, say, residence))
        except OSError:
            pass  # the driver has ended, and no other process listens
        finally:
            residence.close()
    yield from ()


def _units(line: Connection) -> Iterator[Unit]:
    while message := heard(line):
        unit: Unit = pickle.loads(message)
        yield unit
