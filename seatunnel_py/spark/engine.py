"""The engine port on Spark: packs of units, each pack one Spark job of one task, a few of them under way at once.

Rules. (1) Spark never retries: what a lost task had finished is read from the pack's journal. (2) Every submitted
unit ends in exactly one event. (3) slots + 1 packs are under way, so that a slot never waits for the driver.
(4) A unit's deadline is kept by its worker; where that is past keeping it (a call that never lets go of the
interpreter) the driver ends the pack, a grace later. (5) Without its JVM the driver has no engine: that is said once,
and ends the job, which can be gone on with.
"""

from __future__ import annotations

import json
import secrets
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatunnel_py.errors import first_line
from seatunnel_py.runtime.ports import EngineEvent, EngineLost, UnitFinished, UnitLost, UnitStarted
from seatunnel_py.spark.overdue import overdue
from seatunnel_py.spark.pack_task import Pack, task, unpicklable
from seatunnel_py.spark.packs import PackQueue
from seatunnel_py.spark.query_unit import QuerySessions, needs_catalyst, run_query_unit
from seatunnel_py.spark.residents import Residents
from seatunnel_py.work.chain import Chain, ChainSource
from seatunnel_py.work.journal import read_journal
from seatunnel_py.work.unit import FailureKind, Unit, UnitId, UnitResult, result_from_plain

if TYPE_CHECKING:
    from pyspark import SparkContext

NO_EXECUTOR = "no executor of the cluster is there for the job; job.log says why the last ones were lost"
STOP_SECONDS_MAX = 10.0  # Spark lets a cancelled task go within its own kill time-out


class SparkEngine:
    """Runs packs from ``slots + 1`` driver threads. ``journals`` is a directory that driver and workers share; the
    engine makes one of its own in it and takes it away again."""

    def __init__(self, context: SparkContext, slots: int, journals: Path, residents: int = 0) -> None:
        self._context = context
        self._slots = slots
        self._name = f"packs-{secrets.token_hex(4)}"
        self._journals = journals / self._name
        self._chains: dict[str, Chain] = {}
        self._queue = PackQueue(slots + 1)
        self._groups: dict[UnitId, str] = {}
        self._packs = 0
        self._changed = threading.Condition()
        self._stopping = False
        self._report: Callable[[EngineEvent], None] = _unstarted
        self._threads: list[threading.Thread] = []
        self._base = context.parallelize([0], 1)
        self._sessions = QuerySessions(context)
        host = context.getConf().get("spark.driver.host") or "127.0.0.1"
        self._residents = Residents(self._name, host, residents, self._run_resident, self._cancel, self._say)

    @property
    def slots(self) -> int:
        return self._slots

    def start(self, report: Callable[[EngineEvent], None]) -> None:
        self._report = report
        for left in (*self._journals.parent.glob("packs-*"), *self._journals.parent.glob("probe-*")):
            _take_away(left)  # their drivers were killed
        self._journals.mkdir(mode=0o700, parents=True)
        for number in range(self._slots + 1):
            thread = threading.Thread(target=self._serve, name=f"pack-{number}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def register(self, chain: Chain) -> None:
        with self._changed:
            self._chains[chain.vertex] = chain

    def submit(self, unit: Unit) -> None:
        chain = self._chains[unit.id.vertex]
        resident = isinstance(chain.head, ChainSource) and chain.head.resident and not self._stopping
        if resident and self._residents.takes(unit, chain):
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
            group = self._groups.get(unit)
        if waiting:
            self._report(UnitLost(unit, "cancelled before it started"))
        elif group is not None:
            self._cancel(group)

    def ails(self) -> Sequence[str]:
        """A cluster may have no executor for the job, or none that starts, and says so in a log only."""
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
            groups = set(self._groups.values())
            self._changed.notify_all()
        for unit in waiting:
            self._report(UnitLost(unit.id, "the engine was stopped"))
        self._residents.stop()
        for group in groups:
            self._cancel(group)
        for thread in self._threads:
            thread.join(timeout=STOP_SECONDS_MAX)
        self._threads.clear()
        shutil.rmtree(self._journals, ignore_errors=True)

    def _cancel(self, group: str) -> None:
        """End a pack, also one that Spark is only about to hear of: job tags would miss it."""
        if not self._is_gone():
            self._context._jsc.sc().cancelJobGroupAndFutureJobs(group)

    def _is_gone(self) -> bool:
        """Whether nothing answers where the JVM was."""
        try:
            self._context._jsc.sc().isStopped()
        except Exception:  # noqa: BLE001 - py4j says it in many ways
            return True
        return False

    # ------------------------------------------------------------- a thread

    def _serve(self) -> None:
        while pack := self._next():
            for unit in pack.units:
                self._report(UnitStarted(unit.id))
            try:
                results, reason = self._run(pack)
            except Exception as error:  # noqa: BLE001 - a thread that ends without a word hangs its units
                results, reason = (), _reason(error)
            if reason and self._is_gone():
                self._report(EngineLost("Spark's JVM is gone"))
                return
            self._settle(pack, results, reason)
            pack.journal.unlink(missing_ok=True)

    def _next(self) -> Pack | None:
        """Wait for units; None when the engine stops."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or len(self._queue))
            if self._stopping:
                return None
            units = self._queue.take()
            self._packs += 1
            group = f"{self._name}-{self._packs}"
            self._groups.update((unit.id, group) for unit in units)
            chains = {unit.id.vertex: self._chains[unit.id.vertex] for unit in units}
            return Pack(units, chains, self._journals / f"{self._packs}.journal")

    def _run(self, pack: Pack) -> tuple[tuple[UnitResult, ...], str]:
        """The results of a pack, and why there are not more of them (empty where there could not be)."""
        group = self._groups[pack.units[0].id]
        chain = pack.chains[pack.units[0].id.vertex]
        self._journals.mkdir(mode=0o700, exist_ok=True)  # another driver of this job may have taken it away
        if needs_catalyst(chain):
            return self._query(pack.units[0], chain, group)
        try:
            function = task(pack)
        except Exception as error:  # noqa: BLE001 - a plugin's own code runs here
            return tuple(unpicklable(unit.id, error) for unit in pack.units), ""
        late = overdue(sum(unit.deadline_seconds for unit in pack.units), self._cancel, group)
        self._context.setJobGroup(group, f"{len(pack.units)} units")
        try:
            lines = self._base.mapPartitions(function).collect()
        except Exception as error:  # noqa: BLE001 - whatever Spark says, the units of the pack must be accounted for
            return read_journal(pack.journal).results, _reason(error)
        finally:
            late.cancel()
        return tuple(result_from_plain(json.loads(line)) for line in lines), ""

    def _run_resident(self, group: str, what: str, task: Any) -> str:
        """A resident's task, to its end; why it ended, empty where in peace."""
        self._context.setJobGroup(group, what)
        try:
            self._base.mapPartitions(task).collect()
        except Exception as error:  # noqa: BLE001 - whatever Spark says, its unit must be accounted for
            if self._is_gone():
                self._report(EngineLost("Spark's JVM is gone"))
            return _reason(error)
        return ""

    def _say(self, event: EngineEvent) -> None:
        self._report(event)

    def _query(self, unit: Unit, chain: Chain, group: str) -> tuple[tuple[UnitResult, ...], str]:
        """The result of a unit that needs Catalyst, and why there is none."""
        late = overdue(unit.deadline_seconds, self._cancel, group)
        self._context.setJobGroup(group, f"query {unit.id}")
        try:
            return (run_query_unit(self._sessions, chain, unit, str(self._journals.parent)),), ""
        except Exception as error:  # noqa: BLE001 - whatever Spark says, the unit must be accounted for
            return (), _reason(error)
        finally:
            late.cancel()

    def _settle(self, pack: Pack, results: tuple[UnitResult, ...], reason: str) -> None:
        """Report one event for each unit of a pack, and remember whom to suspect."""
        began = set(read_journal(pack.journal).started) if reason else set()
        ended = {result.id: result for result in reversed(results)}
        with self._changed:
            for unit in pack.units:
                del self._groups[unit.id]
                result = ended.get(unit.id)
                missed = result and result.failure and result.failure.kind is FailureKind.DEADLINE
                if missed or (result is None and unit.id in began):
                    self._queue.suspect(unit.id)
        for unit in pack.units:
            if result := ended.get(unit.id):
                self._report(UnitFinished(result))
            else:
                state = "while this unit ran" if unit.id in began else "before this unit began"
                self._report(UnitLost(unit.id, f"{reason} {state}"))


def _reason(error: Exception) -> str:
    """Spark's words in one line: what happened to the task, without the traces."""
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
