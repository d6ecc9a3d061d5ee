"""Lists the repeated attempts of a run for its receipt: each cause once, with the number of attempts and the tables.

Rules. (1) An attempt is repeated if a unit, a preparation or a commit is retried, or if vertices restart.
(2) Causes with equal first lines are the same. For a lost worker the unit is omitted, because several units are lost.
"""

from __future__ import annotations

from seatunnel_py.errors import first_line
from seatunnel_py.runtime.observe.events import JobEvent, RegionRestarted, UnitRetried
from seatunnel_py.runtime.observe.receipt import Repeated
from seatunnel_py.work.unit import FailureKind, UnitFailure


class RepeatedAttempts:
    """Repeated attempts of one run."""

    def __init__(self) -> None:
        self._attempts: dict[str, int] = {}
        self._tables: dict[str, dict[str, None]] = {}

    def saw(self, event: JobEvent) -> None:
        """Note an event of the job."""
        match event:
            case UnitRetried():
                self._add(_cause(event.failure), event.name)
            case RegionRestarted():
                for cause in sorted(set(map(first_line, event.causes.values()))):
                    self._add(cause, event.name)

    def _add(self, cause: str, table: str) -> None:
        self._attempts[cause] = self._attempts.get(cause, 0) + 1
        self._tables.setdefault(cause, {})[table] = None

    def told(self) -> tuple[Repeated, ...]:
        """Return the causes, most frequent first."""
        found = (Repeated(cause, number, tuple(self._tables[cause])) for cause, number in self._attempts.items())
        return tuple(sorted(found, key=lambda one: -one.attempts))


def _cause(failure: UnitFailure) -> str:
    text = first_line(failure.message)
    _, lost, why = text.partition(" was lost: ")
    return f"the worker was lost: {why}" if lost and failure.kind is FailureKind.LOST else text
