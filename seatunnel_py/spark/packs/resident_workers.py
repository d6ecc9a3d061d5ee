"""Manages the resident workers of an engine: one for each subtask of a resident source, in its own slot.

Rules. (1) A resident serves one execution of its subtask: a unit of another epoch gets another one, and the previous
one is dismissed. (2) It has at most one unit, and every unit ends in exactly one event: its result, or the end of its
task. (3) There are as many as slots for them: without a free slot a unit runs in a pack. (4) A resident idle for
``IDLE_SECONDS`` is dismissed when another subtask needs its slot. (5) A unit's worker enforces its deadline; if it
cannot, the driver ends its task (``deadline.py``).
"""

from __future__ import annotations

import json
import pickle
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from seatunnel_py.runtime.messages.engine_port import EngineEvent, UnitFinished, UnitLost, UnitStarted
from seatunnel_py.spark.packs.deadline import overdue
from seatunnel_py.spark.packs.pack_task import pickled, unpicklable
from seatunnel_py.spark.packs.resident_worker_task import run_resident
from seatunnel_py.spark.packs.worker_listener import OVER, Run, WorkerListener
from seatunnel_py.work.chain import Chain
from seatunnel_py.work.unit import FailureKind, Unit, UnitId, result_from_plain

IDLE_SECONDS = 60.0


@dataclass(slots=True, eq=False)
class Resident:
    """``line`` is None until its task has connected; ``unit`` is its current unit, or its first one once it has
    connected."""

    name: str
    who: tuple[str, int]
    epoch: int
    line: Connection | None = None
    unit: Unit | None = None
    overdue: threading.Timer | None = None
    dismissed: str = ""
    since: float = field(default_factory=time.monotonic)


class Residents:
    """``most`` of them may exist; ``run`` and ``cancel`` call Spark, from any thread."""

    def __init__(
        self,
        name: str,
        host: str,
        most: int,
        run: Run,
        cancel: Callable[[str], None],
        report: Callable[[EngineEvent], None],
    ) -> None:
        self._name, self._most = name, most
        self._run, self._cancel, self._report = run, cancel, report
        self._board = WorkerListener(host, most)
        self._lock = threading.RLock()
        self._of: dict[tuple[str, int], Resident] = {}
        self._tasks: set[str] = set()
        self._number = 0

    def takes(self, unit: Unit, chain: Chain) -> bool:
        """Give the unit to the resident of its subtask, and start one if there is none; return False without a free
        slot."""
        with self._lock:
            who = unit.id.vertex, unit.id.subtask
            mine = self._of.get(who)
            if mine is not None and mine.epoch != unit.id.epoch:
                self._dismiss(mine, "another execution of its subtask has started")
                mine = None
            self._dismiss_idle()
            if mine is None:
                if len(self._tasks) >= self._most:
                    return False
                try:
                    mine = self._called(who, unit, chain)
                except Exception as error:  # noqa: BLE001 - a plugin's own code runs here
                    self._report(UnitFinished(unpicklable(unit.id, error)))
                    return True
            self._works(mine, unit)
            if mine.line is not None:
                self._send(mine, mine.line, unit)
            return True

    def cancel(self, unit: UnitId) -> bool:
        """End the resident that runs it; return False if none does."""
        with self._lock:
            for one in self._of.values():
                if one.unit is not None and one.unit.id == unit:
                    self._dismiss(one, "cancelled")
                    return True
        return False

    def stop(self) -> None:
        """Dismiss them all."""
        with self._lock:
            for one in list(self._of.values()):
                self._dismiss(one, "the engine was stopped")
        self._board.close()

    # ------------------------------------------------------------- coming and going

    def _called(self, who: tuple[str, int], unit: Unit, chain: Chain) -> Resident:
        self._number += 1
        mine = Resident(f"{self._name}-resident-{self._number}", who, unit.id.epoch)
        chains = pickled({chain.vertex: chain})
        address = self._board.expect(mine.name, partial(self._answer, mine))
        task = partial(run_resident, chains, address, self._board.key, mine.name)
        self._of[who] = mine
        self._tasks.add(mine.name)
        threading.Thread(target=self._serve, args=(mine, task), name=mine.name, daemon=True).start()
        return mine

    def _serve(self, mine: Resident, task: Any) -> None:
        """Run its task to the end."""
        reason = self._run(mine.name, "resident {}/{}".format(*mine.who), task)
        self._board.forget(mine.name)
        with self._lock:
            self._tasks.discard(mine.name)
            self._leaves(mine)
            unit = self._works(mine, None)
        if unit is not None:
            why = mine.dismissed or reason or "its resident worker has left"
            self._report(UnitLost(unit.id, f"{why} while this unit ran"))

    def _works(self, mine: Resident, unit: Unit | None) -> Unit | None:
        """Set its current unit, or none; return the previous one."""
        if mine.overdue is not None:
            mine.overdue.cancel()
        before, mine.unit, mine.since, mine.overdue = mine.unit, unit, time.monotonic(), None
        if unit is not None:
            mine.overdue = overdue(unit.deadline_seconds, self._cancel, mine.name)
        return before

    def _leaves(self, one: Resident) -> None:
        """Give it no further unit."""
        if self._of.get(one.who) is one:
            del self._of[one.who]

    def _dismiss(self, one: Resident, why: str) -> None:
        """End an idle one by message; else cancel its task."""
        one.dismissed = why
        self._leaves(one)
        if one.line is None or one.unit is not None:
            self._cancel(one.name)
        else:
            self._say(one.line, OVER)

    def _dismiss_idle(self) -> None:
        for one in list(self._of.values()):
            if one.unit is None and time.monotonic() - one.since > IDLE_SECONDS:
                self._dismiss(one, "idle")

    # ------------------------------------------------------------- the line

    def _answer(self, mine: Resident, line: Connection) -> None:
        """Answer a resident worker whose task has connected."""
        with self._lock:
            if mine.dismissed:
                line.close()
                return
            mine.line = line
            if mine.unit is not None:
                self._send(mine, line, mine.unit)
        self._listen(mine, line)

    def _send(self, mine: Resident, line: Connection, unit: Unit) -> None:
        self._report(UnitStarted(unit.id))
        self._say(line, pickle.dumps(unit, protocol=5))

    def _say(self, line: Connection, message: bytes) -> None:
        with suppress(OSError):  # it has died: the end of its task reports that
            line.send_bytes(message)

    def _listen(self, mine: Resident, line: Connection) -> None:
        """Read its results, until the connection ends."""
        while True:
            try:
                result = result_from_plain(json.loads(line.recv_bytes()))
            except (OSError, EOFError):
                with self._lock:
                    self._leaves(mine)
                line.close()
                return
            with self._lock:
                if mine.unit is None or mine.unit.id != result.id:
                    continue
                self._works(mine, None)
                if result.failure is not None and result.failure.kind is FailureKind.DEADLINE:
                    self._leaves(mine)  # it has ended itself
            self._report(UnitFinished(result))
