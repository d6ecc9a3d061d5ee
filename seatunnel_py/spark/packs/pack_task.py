"""Runs a pack in its worker: the function that Spark calls, and its arguments.

The payload travels inside the closure: ``parallelize`` would write it, secrets included, to a file on disk.

A pack is run at most once, regardless of Spark's view of its task: a second worker finds the journal there and gives
up. A unit that misses its deadline ends its process, for a hanging native call cannot be interrupted; the journal
records it, and the driver sends the pack's other units elsewhere.
"""

from __future__ import annotations

import faulthandler
import json
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from seatunnel_py.errors import worded
from seatunnel_py.spark.packs.worker_directory import enter_directory
from seatunnel_py.work.chain import Chain
from seatunnel_py.work.pack_journal import PackJournalWriter
from seatunnel_py.work.reader_cache import ReaderCache
from seatunnel_py.work.run import run_unit
from seatunnel_py.work.unit import FailureKind, Unit, UnitFailure, UnitId, UnitResult

DEADLINE_EXIT = 75  # the exit status of a worker that ended itself because a unit missed its deadline


@dataclass(frozen=True, slots=True)
class Pack:
    """Units, the chains of their vertices, and the place of the journal."""

    units: tuple[Unit, ...]
    chains: Mapping[str, Chain]
    journal: Path


def task(pack: Pack) -> partial[Iterator[str]]:
    """Make the function for ``mapPartitions``. Chains are pickled apart from the units, so that a worker that cannot
    unpickle them can still name their units."""
    return partial(run_pack, pack.units, pickled(pack.chains), str(pack.journal))


def take_all(rows: Iterable[Any]) -> None:
    """Spark discards a worker whose input was not read to its end, with its connections."""
    for _ in rows:
        pass


def run_pack(units: tuple[Unit, ...], sent: bytes, journal: str, rows: Iterable[Any]) -> Iterator[str]:
    """Run the units one after the other; yield each result as JSON."""
    take_all(rows)
    enter_directory()
    written = PackJournalWriter(Path(journal))
    try:
        chains = chains_of(sent)
        for unit in units:
            written.started(unit.id)
            result = result_of(unit, chains, written.finished)
            written.finished(result)
            yield json.dumps(result.to_plain())
    finally:
        written.close()


def result_of(
    unit: Unit,
    chains: dict[str, Chain] | UnitFailure,
    say: Callable[[UnitResult], None],
    residence: ReaderCache | None = None,
) -> UnitResult:
    """Run one unit within its time; ``say`` reports a missed deadline, as the last message of this process."""
    if isinstance(chains, UnitFailure):
        return UnitResult(unit.id, done=False, failure=chains)
    with _Deadline(unit, say):
        return run_unit(unit, chains[unit.id.vertex], residence)


def pickled(chains: Mapping[str, Chain]) -> bytes:
    """Pickle them together, so that shared objects are sent once. Raises the error of a plugin that cannot be
    pickled."""
    return pickle.dumps(dict(chains), protocol=5)


def chains_of(sent: bytes) -> dict[str, Chain] | UnitFailure:
    """Invert ``pickled``; return why it fails here."""
    try:
        chains: dict[str, Chain] = pickle.loads(sent)
    except Exception as error:  # noqa: BLE001 - a plugin's own code runs here
        return UnitFailure(
            FailureKind.FATAL,
            f"a worker cannot load the job's plugins: {worded(error)}",
            "install them, and what they need, where the workers run",
            error_type=type(error).__name__,
        )
    return chains


def unpicklable(unit: UnitId, error: Exception) -> UnitResult:
    """The result of a unit whose chain cannot be sent to a worker: a fault in a plugin, not in the engine."""
    text = f"{unit.vertex} cannot be sent to a worker: {worded(error)}"
    remedy = "a plugin's sources, sinks and transforms must be picklable and open nothing when they are made"
    return UnitResult(unit, done=False, failure=UnitFailure(FailureKind.FATAL, text, remedy))


def unsendable(pack: Pack, error: Exception) -> tuple[UnitResult, ...]:
    """The results of a pack of such units."""
    return tuple(unpicklable(unit.id, error) for unit in pack.units)


class _Deadline:
    """Ends the process if a unit takes too long; ``say`` reports why. The log gets the stacks: they show where it
    hung."""

    def __init__(self, unit: Unit, say: Callable[[UnitResult], None]) -> None:
        self._unit = unit
        self._say = say
        self._timer = threading.Timer(unit.deadline_seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def _end(self) -> None:
        faulthandler.dump_traceback(file=sys.__stderr__ or sys.stderr)
        limit = self._unit.deadline_seconds
        failure = UnitFailure(
            FailureKind.DEADLINE,
            f"unit {self._unit.id} was not done after {limit:g} s and its process was ended",
            "the job's log shows where it hung",
        )
        self._say(UnitResult(self._unit.id, done=False, seconds=limit, failure=failure))
        os._exit(DEADLINE_EXIT)
