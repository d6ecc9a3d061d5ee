"""Sends a pack to a worker: as a Spark job of its own, or as a message to a resident worker (``slots.py``).

A job for each pack works everywhere: with executors that come and go, and beside queries, which use every core. A
resident worker is started once: on a local master, and in jobs without queries.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from seatunnel_py.spark.packs.deadline import overdue
from seatunnel_py.spark.packs.pack_task import Pack, task, unsendable
from seatunnel_py.spark.query.unit import QuerySessions, needs_catalyst, run_query_unit
from seatunnel_py.work.unit import UnitResult, result_from_plain

if TYPE_CHECKING:
    from pyspark import RDD


class WorkerGoneError(Exception):
    """The worker has ended in the middle of a pack; the text names the cause."""


class PackRunner(Protocol):
    """For one thread, which calls ``expect`` and ``begin`` before each pack: ``group`` is the pack's job group from
    then on, and that of a worker that is ``called``."""

    group: str
    called: bool

    def expect(self) -> None:
        """Announce a pack; return when there is a worker for it."""

    def begin(self) -> None: ...

    def results(self, pack: Pack) -> Iterator[Sequence[UnitResult]]:
        """Run a pack; yield its results as they arrive. Raises WorkerGoneError, and Spark's exceptions."""

    def close(self) -> None:
        """No pack follows."""


class JobPerPack:
    """Runs a Spark job of one task for every pack. ``base`` has one partition; ``place`` is where queries exchange
    rows."""

    def __init__(
        self, name: str, base: RDD[int], sessions: QuerySessions, place: Path, cancel: Callable[[str], None]
    ) -> None:
        self._name, self._base, self._sessions, self._place, self._cancel = name, base, sessions, place, cancel
        self._packs = 0
        self.group = ""
        self.called = False

    def expect(self) -> None:
        """Spark looks for a worker."""

    def begin(self) -> None:
        self._packs += 1
        self.group = f"{self._name}-{self._packs}"

    def results(self, pack: Pack) -> Iterator[Sequence[UnitResult]]:
        late = overdue(sum(unit.deadline_seconds for unit in pack.units), self._cancel, self.group)
        try:
            yield self._results(pack)
        finally:
            late.cancel()

    def close(self) -> None:
        """Does nothing: nothing is held."""

    def _results(self, pack: Pack) -> Sequence[UnitResult]:
        chain = pack.chains[pack.units[0].id.vertex]
        if needs_catalyst(chain):
            (unit,) = pack.units
            self._base.context.setJobGroup(self.group, f"query {unit.id}")
            return (run_query_unit(self._sessions, chain, unit, str(self._place)),)
        try:
            function = task(pack)
        except Exception as error:  # noqa: BLE001 - a plugin's own code runs here
            return unsendable(pack, error)
        self._base.context.setJobGroup(self.group, f"{len(pack.units)} units")
        return tuple(result_from_plain(json.loads(line)) for line in self._base.mapPartitions(function).collect())
