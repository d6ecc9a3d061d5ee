"""Current failures of a pipeline, each under its own name.

Rules. (1) A failure that has passed removes only its own cause. (2) The cause of an end is one that
matches its reason; for example, an earlier failure of the store does not explain a refused commit.
"""

from __future__ import annotations

from collections.abc import Mapping

from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.work.unit import UnitFailure

STORE = "store"
"""The record of a checkpoint could not be stored."""


def unit_of(vertex: str) -> str:
    """Name: a unit, a snapshot or a restore of this vertex has failed for good."""
    return f"unit {vertex}"


def commit_of(scope: str) -> str:
    """Name: the oldest commit of this scope has failed."""
    return f"commit {scope}"


def retry_of(unit: object) -> str:
    """Name: a unit waits for its next attempt."""
    return f"retry {unit}"


_KINDS: Mapping[Reason, tuple[str, ...]] = {
    **dict.fromkeys((Reason.COMMIT_FAILED, Reason.COMMIT_REFUSED, Reason.LOST, Reason.FOREIGN), ("commit ",)),
    Reason.FENCED: ("commit ", STORE),
    **dict.fromkeys((Reason.STORE_FAILED, Reason.TOO_MANY_FAILED_CHECKPOINTS), (STORE,)),
}
_OF_UNITS = ("unit ",)


class Troubles:
    """Current failures of one pipeline; the latest last."""

    def __init__(self) -> None:
        self._by_name: dict[str, UnitFailure] = {}

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def begins(self, name: str, failure: UnitFailure) -> None:
        """Add a failure, or replace an earlier one of this name."""
        self._by_name.pop(name, None)
        self._by_name[name] = failure

    def ends(self, name: str) -> bool:
        """Remove a failure that has passed. False: there was none of this name."""
        return self._by_name.pop(name, None) is not None

    def units_run(self) -> None:
        """Remove the failures of units, because all have restarted."""
        self._by_name = {name: one for name, one in self._by_name.items() if not name.startswith(_OF_UNITS)}

    def get(self, name: str) -> UnitFailure | None:
        """The failure of this name."""
        return self._by_name.get(name)

    @property
    def latest(self) -> UnitFailure | None:
        """The latest failure."""
        return next(reversed(self._by_name.values()), None)

    def cause(self, reason: Reason) -> tuple[str, UnitFailure] | None:
        """The failure that explains this reason, with its name."""
        kinds = _KINDS.get(reason, _OF_UNITS)
        return next((one for one in reversed(self._by_name.items()) if one[0].startswith(kinds)), None)
