"""A resident worker: a Spark task that holds the readers of one subtask, and runs its units as the driver sends them.

It calls the driver, says which one it is, and then takes a unit and gives back a result, until the driver hangs up.
Units are what they are everywhere: atomic, with a deadline, barriers pass between two of them. Only what a source has
open stays open. Nothing is journalled: at most one unit is under way, and what became of it dies with the line.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection
from typing import Any

from seatunnel_py.spark.packs.pack_task import chains_of, result_of, take_all
from seatunnel_py.spark.packs.worker_listener import called, heard
from seatunnel_py.work.reader_cache import Residence
from seatunnel_py.work.unit import Unit, UnitResult


def run_resident(sent: bytes, address: tuple[str, int], key: bytes, name: str, rows: Iterable[Any]) -> Iterator[str]:
    """A function for ``mapPartitions``: run units of one chain, which was ``sent``, until nobody sends any; yields
    nothing. ``key`` proves both ends to each other."""
    take_all(rows)
    residence = Residence()
    with called(address, key, name) as line:

        def say(result: UnitResult) -> None:
            line.send_bytes(json.dumps(result.to_plain()).encode())

        chains = chains_of(sent)
        try:
            for unit in _units(line):
                say(result_of(unit, chains, say, residence))
        except OSError:
            pass  # the driver has gone, and with it everybody who would hear
        finally:
            residence.close()
    yield from ()


def _units(line: Connection) -> Iterator[Unit]:
    while message := heard(line):
        unit: Unit = pickle.loads(message)
        yield unit
