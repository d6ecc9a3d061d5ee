"""The threads of one process, in virtual time.

Rules. (1) All of it is driven by the world's heap: nothing runs beside anything else. (2) When a driver dies, each task
that was under way has happened or not, and its answer is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seatunnel_py.runtime.driver.executors import Executors
from seatunnel_py.runtime.targets.call_failure import as_failure
from tests.simulation.process import Died, Process
from tests.simulation.violation import JobViolationError

SLOW_SECONDS = 1.5


class SimulatedExecutors(Executors):
    """The threads of one process, in virtual time."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._writing_until = 0.0

    def aside(self, task: Callable[[], Any], then: Callable[[Any], None], failed: Callable[[Any], None]) -> None:
        self._process.later(self._process.world.delay(0.2), self._side, task, then, failed)

    def _side(self, task: Callable[[], Any], then: Callable[[Any], None], failed: Callable[[Any], None]) -> None:
        world = self._process.world
        try:
            value = task()
        except (Died, JobViolationError):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a plugin raises ends its table
            self._process.later(world.delay(0.02), failed, as_failure(error))
        else:
            self._process.later(world.delay(0.02), then, value)

    def of_engine(self, task: Callable[[], None]) -> None:
        self._process.later(self._process.world.delay(0.05), task)

    def write(self, task: Callable[[], Any], then: Callable[[BaseException | None], None]) -> None:
        """One after the other."""
        now = self._process.world.now
        begins = max(now, self._writing_until)
        self._writing_until = begins + self._time()
        self._process.later(self._writing_until - now, self._write, task, then)

    def _write(self, task: Callable[[], Any], then: Callable[[BaseException | None], None]) -> None:
        error: BaseException | None = None
        try:
            task()
        except Died:
            raise
        except Exception as caught:  # noqa: BLE001 - the protocol decides what follows
            error = caught
        self._process.later(0.0, then, error)

    def _time(self) -> float:
        world = self._process.world
        return world.delay(SLOW_SECONDS if world.faults.strikes("slow store") else 0.05)
