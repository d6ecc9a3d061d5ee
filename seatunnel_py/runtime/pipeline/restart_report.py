"""What a restart means, for people and for targets: who failed and why, who began again, what may come of it.

Rules. (1) A restart is told once, when all that restarted have started, with everybody who failed until then. (2) Sinks
that may show rows twice by it are named, and so are sources that cannot read again what they gave (FO3, FO4). (3) It is
not begun where a two-phase sink would show rows of both lives, for what it staged cannot be dropped (FO2).
"""

from __future__ import annotations

from collections.abc import Collection

from seatunnel_py.errors import BEGIN_ANEW
from seatunnel_py.protocol.failover.decisions import duplicates_possible, losses_possible
from seatunnel_py.protocol.model.topology import Topology
from seatunnel_py.runtime.observe.events import RegionRestarted
from seatunnel_py.work.unit import FailureKind, UnitFailure


class RestartReport:
    """Of one pipeline."""

    def __init__(self) -> None:
        self._causes: dict[str, str] = {}
        self._epochs: dict[str, int] = {}
        self._checkpoint = 0

    def failed(self, vertex: str, cause: str) -> None:
        """A subtask of this vertex has failed."""
        self._causes[vertex] = cause

    def began(self, vertex: str, epoch: int, checkpoint: int) -> None:
        """A subtask of this vertex has been told to begin a life."""
        self._epochs[vertex] = epoch
        self._checkpoint = checkpoint

    def started(self, topology: Topology, pipeline: str, name: str, at: float) -> RegionRestarted | None:
        """All of them have started; None: not after a failure, or it was told already."""
        causes, epochs = self._causes, self._epochs
        self._causes, self._epochs = {}, {}
        if not causes:
            return None
        twice, lost = duplicates_possible(topology, epochs.keys()), losses_possible(topology, epochs.keys())
        return RegionRestarted(
            pipeline, name, epochs, self._checkpoint, causes, tuple(sorted(twice)), tuple(sorted(lost)), at
        )


def cannot_restart(failed: str, twice: Collection[str], cause: str) -> UnitFailure:
    """What people read where a restart would show rows twice."""
    return UnitFailure(
        FailureKind.FATAL,
        f"{failed} failed and would give other rows when it runs again; {', '.join(twice)} cannot drop what it has "
        f"already, and would show both: {cause}",
        f"{BEGIN_ANEW}; channel.retain = always keeps rows for sinks that fail",
    )
