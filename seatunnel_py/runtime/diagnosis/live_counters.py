"""Writes the counts of a running job's tables to ``counters.json``.

Rules. (1) They are written after a change, at most once a second, and not in the first one; of many tables less often
(``pause_of``), so that they take at most a hundredth of the driver's time. Without a change they are written every
``BEAT_SECONDS``, as a heartbeat. (2) Only changed tables are counted again, for at most ``LOOK_SECONDS`` per call,
because the loop waits for it: the counts of a thousand tables are spread over several calls. (3) They name their run,
like a receipt: those of a dead driver show its progress. (4) ``marks`` are the highest counts of a table so far, by all
drivers, where they are higher than now: rows that a restart reads again do not set a counter back. (5) The entry of a
table is never altered: its text is written again as it is (``LiveRecord``).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from seatunnel_py.runtime.counts.table_marks import TableMarks
from seatunnel_py.runtime.diagnosis.checkpoint_totals import CheckpointEvent, CheckpointTotals
from seatunnel_py.runtime.diagnosis.live_entries import Entry, entries_of, entry_of
from seatunnel_py.runtime.observe.receipt import TableReceipt
from seatunnel_py.runtime.observe.run_record import TableRecord

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine

EVERY_SECONDS = 1.0
TABLES_EACH_SECOND = 400
BEAT_SECONDS = 10.0
LOOK_SECONDS = 0.01  # 1/50 of the time between two calls


@dataclass(frozen=True, slots=True)
class EarlierCounts:
    """Counts of the drivers before: of their tables, and of their checkpoints."""

    tables: tuple[TableRecord, ...] = ()
    checkpoints: Mapping[str, Any] = field(default_factory=dict)


class LiveCounters:
    """Counters of the pipelines in ``machines``, which may grow, as the receipts of those that are ``closed``.
    ``before``: counts of earlier drivers."""

    def __init__(
        self,
        run: str,
        machines: Mapping[str, PipelineMachine],
        closed: Mapping[str, tuple[TableReceipt, ...]],
        before: EarlierCounts | None = None,
    ) -> None:
        before = before or EarlierCounts()
        self._checkpoints = CheckpointTotals(before.checkpoints)
        self._marks = TableMarks(before.tables)
        self._about = {"run": run}
        self._machines, self._closed = machines, closed
        self._tables: dict[str, list[Entry]] = {}
        self._counted: dict[str, tuple[PipelineMachine, int]] = {}  # and the number of its events then
        self._to_sum: list[str] = []  # changed pipelines of this round that are not counted yet
        self._not_before: float | None = None
        self._written_at = 0.0

    def saw(self, event: CheckpointEvent) -> None:
        """Note an event of a checkpoint."""
        self._checkpoints.saw(event)

    def due(self, now: float) -> dict[str, Any] | None:
        """Return the counts to write; None: no change, too early, or counting is not complete."""
        if self._not_before is None:
            self._not_before = now + EVERY_SECONDS
        if now < self._not_before:
            return None
        if not self._to_sum:
            self._to_sum = [key for key, machine in self._machines.items() if self._changed(key, machine)]
            if not self._to_sum and now < self._written_at + BEAT_SECONDS:
                return None
        self._sum_up(now, LOOK_SECONDS)
        if self._to_sum:
            return None
        return self._told(now)

    def last(self, now: float) -> dict[str, Any]:
        """The counts at the end of the run."""
        changed = (key for key, machine in self._machines.items() if self._changed(key, machine))
        self._to_sum = [*{*self._to_sum, *changed}]
        self._sum_up(now, float("inf"))
        return self._told(now)

    def _told(self, now: float) -> dict[str, Any]:
        tables = [table for key in self._machines for table in self._tables.get(key, ())]
        self._not_before, self._written_at = now + pause_of(len(tables)), now
        facts = {
            "checkpoints": self._checkpoints.plain,
            "marks": self._marks.higher({table["table"] for table in tables}),
        }
        this_run = {"rows_read": sum(map(itemgetter("rows_read_this_run"), tables))}
        totals = {"totals": self._marks.totals(), "this_run": this_run}
        return {**self._about, "at": now, "tables": tables, **totals, **facts}

    def _changed(self, key: str, machine: PipelineMachine) -> bool:
        counted = self._counted.get(key)
        return counted is None or counted[0] is not machine or counted[1] != machine.state.told

    def _sum_up(self, now: float, seconds: float) -> None:
        until = time.perf_counter() + seconds
        while self._to_sum and time.perf_counter() < until:
            key = self._to_sum.pop()
            machine = self._machines[key]
            self._counted[key] = (machine, machine.state.told)
            receipts = self._closed.get(key)
            found = entries_of(machine, now) if receipts is None else list(map(entry_of, receipts))
            self._marks.exchange(self._tables.get(key, ()), found)
            self._tables[key] = found


def pause_of(tables: int) -> float:
    """Seconds between two writings of so many tables."""
    return min(BEAT_SECONDS, max(EVERY_SECONDS, tables / TABLES_EACH_SECOND))
