"""What has failed in a pipeline and is not mended yet: each failure under a name of its own.

Rules. (1) A failure that is over takes its own cause away, and no other. (2) The cause of an end is looked for among
those that its reason is about; a store that failed once does not explain a commit that a target refuses.
"""

from __future__ import annotations

from collections.abc import Mapping

from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.work.unit import UnitFailure

STORE = "store"
"""The record of a checkpoint could not be stored."""


def unit_of(vertex: str) -> str:
    """A unit of this vertex has failed for good, or a snapshot of it, or its restore."""
    return f"unit {vertex}"


def commit_of(scope: str) -> str:
    """The oldest commit of this scope has failed."""
    return f"commit {scope}"


def retry_of(unit: object) -> str:
    """A unit waits for its next attempt."""
    return f"retry {unit}"


_KINDS: Mapping[Reason, tuple[str, ...]] = {
    **dict.fromkeys((Reason.COMMIT_FAILED, Reason.COMMIT_REFUSED, Reason.LOST, Reason.FOREIGN), ("commit ",)),
    Reason.FENCED: ("commit ", STORE),
    **dict.fromkeys((Reason.STORE_FAILED, Reason.TOO_MANY_FAILED_CHECKPOINTS), (STORE,)),
}
_OF_UNITS = ("unit ",)


class Troubles:
    """Of one pipeline; the latest last."""

    def __init__(self) -> None:
        self._by_name: dict[str, UnitFailure] = {}

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def begins(self, name: str, failure: UnitFailure) -> None:
        """This has failed, or has failed again."""
        self._by_name.pop(name, None)
        self._by_name[name] = failure

    def ends(self, name: str) -> bool:
        """This is mended, or does not matter any longer. False: it was not known to have failed."""
        return self._by_name.pop(name, None) is not None

    def units_run(self) -> None:
        """All that had failed have begun again."""
        self._by_name = {name: one for name, one in self._by_name.items() if not name.startswith(_OF_UNITS)}

    def get(self, name: str) -> UnitFailure | None:
        """The cause of this one."""
        return self._by_name.get(name)

    @property
    def latest(self) -> UnitFailure | None:
        """The failure that came last."""
        return next(reversed(self._by_name.values()), None)

    def cause(self, reason: Reason) -> tuple[str, UnitFailure] | None:
        """The failure that explains an end for this reason, and its name."""
        kinds = _KINDS.get(reason, _OF_UNITS)
        return next((one for one in reversed(self._by_name.items()) if one[0].startswith(kinds)), None)
