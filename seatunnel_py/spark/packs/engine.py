"""Implements the engine port on Spark: runs a few packs of units at once, each in one worker (``pack_runners.py``).

Rules. (1) Spark never retries: finished units of a lost worker are read from the pack's journal. (2) Every submitted
unit ends in exactly one event. (3) If each pack is a Spark job, slots + 1 of them run at once, so that a slot never
waits for the driver. Resident workers never wait, so there are as many as slots. (4) A unit's worker enforces its
deadline; if it cannot (a call that never releases the interpreter) the driver ends the pack after a grace period. (5)
Without its JVM the driver has no engine: this is reported once, and ends the job, which can be resumed.
"""

from __future__ import annotations

import secrets
import shutil
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.process.private_files import make_private
from seatunnel_py.errors import first_line
from seatunnel_py.runtime.messages.engine_port import EngineEvent, EngineLost, UnitFinished, UnitLost, UnitStarted
from seatunnel_py.spark.packs.pack_queue import PackQueue
from seatunnel_py.spark.packs.pack_runners import JobPerPack, PackRunner, WorkerGoneError
from seatunnel_py.spark.packs.pack_task import Pack
from seatunnel_py.spark.packs.resident_workers import Residents
from seatunnel_py.spark.packs.slots import Slot
from seatunnel_py.spark.packs.worker_listener import WorkerListener
from seatunnel_py.spark.query.unit import QuerySessions, needs_catalyst
from seatunnel_py.work.chain import Chain, ChainSource
from seatunnel_py.work.pack_journal import read_journal
from seatunnel_py.work.unit import FailureKind, Unit, UnitId, UnitResult

if TYPE_CHECKING:
    from pyspark import SparkContext

NO_EXECUTOR = "the job has no executor on the cluster; job.log shows why the last ones were lost"
STOP_SECONDS_MAX = 10.0  # Spark ends a cancelled task within its own kill time-out


class SparkEngine:
    """``journals`` is a directory that driver and workers share; the engine makes its own directory in it and removes
    it again. ``staying``: workers stay, for no other part of this application needs their slots."""

    def __init__(
        self, context: SparkContext, slots: int, journals: Path, residents: int = 0, *, staying: bool = False
    ) -> None:
        self._context = context
        self._slots = slots
        self._name = f"packs-{secrets.token_hex(4)}"
        self._journals = journals / self._name
        self._chains: dict[str, Chain] = {}
        self._queue = PackQueue(slots + (not staying))
        self._runs: dict[UnitId, PackRunner] = {}
        self._journal_of: dict[UnitId, Path] = {}
        self._packs = 0
        self._changed = threading.Condition()
        self._cancelled: dict[PackRunner, UnitId | None] = {}  # their packs, by this engine; the hanging unit, if any
        self._stopping = False
        self._report: Callable[[EngineEvent], None] = _unstarted
        self._threads: list[threading.Thread] = []
        self._base = context.parallelize([0], 1)
        host = context.getConf().get("spark.driver.host") or "127.0.0.1"
        self._board = WorkerListener(host, slots)
        self._ways = self._ways_of(staying=staying)
        self._residents = Residents(self._name, host, residents, self._run, self._cancel, self._say)

    def _ways_of(self, *, staying: bool) -> Sequence[PackRunner]:
        if staying:
            names = (f"{self._name}-slot-{number}" for number in range(self._slots))
            return [Slot(name, self._board, self._run, self._cancel) for name in names]
        sessions, names = QuerySessions(self._context), (f"{self._name}-{number}" for number in range(self._slots + 1))
        return [JobPerPack(name, self._base, sessions, self._journals.parent, self._cancel) for name in names]

    @property
    def slots(self) -> int:
        return self._slots

    def start(self, report: Callable[[EngineEvent], None]) -> None:
        self._report = report
        for left in (*self._journals.parent.glob("packs-*"), *self._journals.parent.glob("probe-*")):
            _take_away(left)  # their drivers were killed
        make_private(self._journals)
        for number, way in enumerate(self._ways):
            thread = threading.Thread(target=self._serve, args=(way,), name=f"pack-{number}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def register(self, chain: Chain) -> None:
        with self._changed:
            self._chains[chain.vertex] = chain

    def submit(self, unit: Unit) -> None:
        chain = self._chains[unit.id.vertex]
        resident = isinstance(chain.head, ChainSource) and chain.head.resident and not self._stopping
        if resident and not needs_catalyst(chain) and self._residents.takes(unit, chain):
            return
        with self._changed:
            if not self._stopping:
                if needs_catalyst(chain):
                    self._queue.suspect(unit.id)  # it is a Spark job of its own, so it cannot share a pack
                self._queue.put(unit)
                self._changed.notify()
                return
        self._report(UnitLost(unit.id, "the engine was stopped"))

    def cancel(self, unit: UnitId) -> None:
        if self._residents.cancel(unit):
            return
        with self._changed:
            waiting = self._queue.remove(unit)
            if unit in self._runs:
                self._cancelled[self._runs[unit]] = None
                self._cancel(self._runs[unit].group)  # under the lock: the runner takes no other pack meanwhile
        if waiting:
            self._report(UnitLost(unit, "cancelled before it started"))

    def abandon(self, unit: UnitId) -> None:
        """A unit that waits in a pack after another one is not the hanging one."""
        if self._residents.cancel(unit):
            return
        with self._changed:
            journal = self._journal_of.get(unit)
            if journal is not None and unit in read_journal(journal).started and unit in self._runs:
                self._cancelled[self._runs[unit]] = unit
                self._cancel(self._runs[unit].group)

    def ails(self) -> Sequence[str]:
        """A cluster may have no executor for the job, or none that starts, and reports that only in a log."""
        if str(self._context.master).startswith("local"):
            return ()
        try:
            executors = int(self._context._jsc.sc().getExecutorMemoryStatus().size()) - 1  # the driver is one of them
        except Exception as error:  # noqa: BLE001 - told to whoever has asked
            return (f"Spark's JVM does not answer: {first_line(str(error))}",)
        return () if executors else (NO_EXECUTOR,)

    def stop(self) -> None:
        with self._changed:
            self._stopping = True
            waiting = self._queue.clear()
            groups = {way.group for way in (*self._runs.values(), *(way for way in self._ways if way.called))}
            self._changed.notify_all()
        for unit in waiting:
            self._report(UnitLost(unit.id, "the engine was stopped"))
        self._residents.stop()
        for group in groups:
            self._cancel(group)
        for thread in self._threads:
            thread.join(timeout=STOP_SECONDS_MAX)
        self._threads.clear()
        self._board.close()
        shutil.rmtree(self._journals, ignore_errors=True)

    def _cancel(self, group: str) -> None:
        """End a pack, also one that is not yet submitted to Spark: job tags would miss it."""
        if not self._is_gone():
            self._context._jsc.sc().cancelJobGroupAndFutureJobs(group)

    def _is_gone(self) -> bool:
        """Whether the JVM no longer answers."""
        try:
            self._context._jsc.sc().isStopped()
        except Exception:  # noqa: BLE001 - py4j says it in many ways
            return True
        return False

    # ------------------------------------------------------------- a thread

    def _serve(self, way: PackRunner) -> None:
        while pack := self._next(way):
            for unit in pack.units:
                self._report(UnitStarted(unit.id))
            reason = ""
            try:
                # Another driver of the job may have removed it; one that ended the job, its parent as well.
                self._journals.mkdir(mode=0o700, exist_ok=True)
                for results in way.results(pack):
                    self._ended(results)
            except WorkerGoneError as error:
                reason = str(error)
            except Exception as error:  # noqa: BLE001 - a thread that ends without a word hangs its units
                reason = _reason(error)
            if reason and self._is_gone():
                self._report(EngineLost("Spark's JVM is gone"))
                return
            if reason:
                self._lost(pack, reason, way)
            pack.journal.unlink(missing_ok=True)
        way.close()

    def _next(self, way: PackRunner) -> Pack | None:
        """Wait for a worker, then for units; return None when the engine stops."""
        if not self._stopping:
            way.expect()
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or len(self._queue))
            if self._stopping:
                return None
            units = self._queue.take()
            self._packs += 1
            way.begin()
            journal = self._journals / f"{self._packs}.journal"
            self._cancelled.pop(way, None)
            self._runs.update((unit.id, way) for unit in units)
            self._journal_of.update((unit.id, journal) for unit in units)
            chains = {unit.id.vertex: self._chains[unit.id.vertex] for unit in units}
            return Pack(units, chains, journal)

    def _ended(self, results: Iterable[UnitResult]) -> None:
        """Report the results of units."""
        with self._changed:
            known = [result for result in results if self._over(result.id)]
            for result in known:
                if result.failure is not None and result.failure.kind is FailureKind.DEADLINE:
                    self._queue.suspect(result.id)
        for result in known:
            self._report(UnitFinished(result))

    def _over(self, unit: UnitId) -> bool:
        """Whether it was running until now."""
        self._journal_of.pop(unit, None)
        return self._runs.pop(unit, None) is not None

    def _lost(self, pack: Pack, reason: str, way: PackRunner) -> None:
        """The worker is dead: its journal may hold more results, and the suspect. The other units are lost. If this
        engine has cancelled the pack itself, only the hanging unit is to blame."""
        journal = read_journal(pack.journal)
        self._ended(journal.results)
        with self._changed:
            lost = [unit.id for unit in pack.units if self._over(unit.id)]
            began, cancelled = set(journal.started).intersection(lost), way in self._cancelled
            hangs = self._cancelled.get(way)
            for unit in began:
                if not cancelled or unit == hangs:
                    self._queue.suspect(unit)
        for unit in lost:
            state = "while this unit ran" if unit in began else "before this unit began"
            self._report(UnitLost(unit, f"{reason} {state}", cancelled and unit != hangs))

    def _run(self, group: str, what: str, task: Any) -> str:
        """Run the task of a resident worker to its end; return why it ended, empty after a normal end."""
        self._context.setJobGroup(group, what)
        try:
            self._base.mapPartitions(task).collect()
        except Exception as error:  # noqa: BLE001 - whatever Spark says, its units must be accounted for
            if self._is_gone():
                self._report(EngineLost("Spark's JVM is gone"))
            return _reason(error)
        return ""

    def _say(self, event: EngineEvent) -> None:
        self._report(event)


def _reason(error: Exception) -> str:
    """Spark's message in one line: the fate of the task, without the tracebacks."""
    text = str(error)
    for mark, words in _KNOWN:
        if mark in text:
            return words
    line = next((line for line in text.splitlines() if "Exception" in line or "Error" in line), text)
    return f"Spark: {line.strip()[:300]}; this happened"


def _take_away(left: Path) -> None:
    if left.is_dir():
        shutil.rmtree(left, ignore_errors=True)
    else:
        left.unlink(missing_ok=True)


_KNOWN = (
    ("Python worker exited unexpectedly", "the worker process died"),
    ("crashed unexpectedly", "the worker process died"),
    ("EOFException", "the worker process died"),
    ("ExecutorLostFailure", "the executor was lost"),
    ("cancelled", "the pack was cancelled"),
)


def _unstarted(event: EngineEvent) -> None:
    raise AssertionError(f"the engine reports before it was started: {event}")
