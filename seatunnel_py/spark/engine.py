"""The engine port on Spark: packs of units, each pack one Spark job of one task, a few of them under way at once.

Rules. (1) Spark never retries: what a lost task had finished is read from the pack's journal. (2) Every submitted
unit ends in exactly one event. (3) slots + 1 packs are under way, so that a slot never waits for the driver.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from seatunnel_py.runtime.ports import EngineEvent, UnitFinished, UnitLost, UnitStarted
from seatunnel_py.spark.pack_task import Pack, task
from seatunnel_py.spark.packs import PackQueue, share_chains
from seatunnel_py.work.chain import Chain
from seatunnel_py.work.journal import read_journal
from seatunnel_py.work.unit import Unit, UnitId, result_from_plain

if TYPE_CHECKING:
    from pyspark import SparkContext

TAG = "seatunnel-pack-{}"


class SparkEngine:
    """Runs packs from ``slots + 1`` driver threads. ``journals`` is a directory that driver and workers share."""

    def __init__(self, context: SparkContext, slots: int, journals: Path) -> None:
        self._context = context
        self._slots = slots
        self._journals = journals
        self._chains: dict[str, Chain] = {}
        self._queue = PackQueue(slots)
        self._running: dict[UnitId, str] = {}
        self._numbers = 0
        self._changed = threading.Condition()
        self._stopping = False
        self._report: Callable[[EngineEvent], None] = _unstarted
        self._threads: list[threading.Thread] = []
        self._base = context.parallelize([0], 1)

    @property
    def slots(self) -> int:
        return self._slots

    def start(self, report: Callable[[EngineEvent], None]) -> None:
        self._report = report
        for number in range(self._slots + 1):
            thread = threading.Thread(target=self._serve, name=f"pack-{number}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def register(self, chain: Chain) -> None:
        with self._changed:
            self._chains[chain.vertex] = chain

    def submit(self, unit: Unit) -> None:
        with self._changed:
            self._queue.put(unit)
            self._changed.notify()

    def cancel(self, unit: UnitId) -> None:
        with self._changed:
            waiting = self._queue.remove(unit)
            tag = self._running.get(unit)
        if waiting:
            self._report(UnitLost(unit, "cancelled before it started"))
        elif tag is not None:
            self._context.cancelJobsWithTag(tag)

    def stop(self) -> None:
        with self._changed:
            self._stopping = True
            tags = set(self._running.values())
            self._changed.notify_all()
        for tag in tags:
            self._context.cancelJobsWithTag(tag)
        for thread in self._threads:
            thread.join(timeout=10)
        self._threads.clear()

    # ------------------------------------------------------------- a thread

    def _serve(self) -> None:
        while True:
            with self._changed:
                while not len(self._queue) and not self._stopping:
                    self._changed.wait()
                if self._stopping:
                    return
                units = self._queue.take()
                self._numbers += 1
                number = self._numbers
                tag = TAG.format(number)
                chains = {vertex: self._chains[vertex] for vertex in share_chains(units)}
                self._running.update((unit.id, tag) for unit in units)
            self._run(Pack(units, chains, self._journals / f"pack-{number}.journal"), tag)

    def _run(self, pack: Pack, tag: str) -> None:
        for unit in pack.units:
            self._report(UnitStarted(unit.id))
        self._context.addJobTag(tag)
        reason = ""
        lines: list[str] = []
        try:
            lines = self._base.mapPartitions(task(pack)).collect()
        except Exception as error:  # noqa: BLE001 - whatever Spark says, the units of the pack must be accounted for
            reason = _reason(error)
        finally:
            self._context.removeJobTag(tag)
        results = [result_from_plain(json.loads(line)) for line in lines]
        began: set[UnitId] = set()
        if reason:
            journal = read_journal(pack.journal)
            results, began = list(journal.results), set(journal.started)
        with self._changed:
            for unit in pack.units:
                self._running.pop(unit.id, None)
        ended = {result.id for result in results}
        for result in results:
            self._report(UnitFinished(result))
        for unit in pack.units:
            if unit.id not in ended:
                state = "while it ran" if unit.id in began else "before it began"
                self._report(UnitLost(unit.id, f"{reason} ({state})"))
        pack.journal.unlink(missing_ok=True)


def _reason(error: Exception) -> str:
    """Spark's words in one line: what happened to the task, without the traces."""
    text = str(error)
    for mark, words in _KNOWN:
        if mark in text:
            return words
    line = next((line for line in text.splitlines() if "Exception" in line or "Error" in line), text)
    return line.strip()[:300]


_KNOWN = (
    ("crashed unexpectedly", "its Python worker died"),
    ("Python worker exited unexpectedly", "its Python worker died"),
    ("EOFException", "its Python worker died"),
    ("ExecutorLostFailure", "its executor was lost"),
    ("cancelled", "it was cancelled"),
)


def _unstarted(event: EngineEvent) -> None:
    raise AssertionError(f"the engine reports before it was started: {event}")
