"""Reports a restart: the vertices that failed, their causes, the restarted vertices, and possible duplicates or losses.

Rules. (1) A restart is reported once, when all restarted subtasks have started, with all failures until then. (2) It
names the sinks that may show rows twice, and the sources that cannot be read again (FO3, FO4). (3) There is no restart
if a two-phase sink would show the rows of both executions, because it cannot drop what it has staged (FO2).
"""

from __future__ import annotations

from collections.abc import Collection

from seatunnel_py.errors import BEGIN_ANEW
from seatunnel_py.protocol.failover.decisions import duplicates_possible, losses_possible
from seatunnel_py.protocol.model.topology import Topology
from seatunnel_py.runtime.observe.events import RegionRestarted
from seatunnel_py.work.unit import FailureKind, UnitFailure


class RestartReport:
    """Collects failures and restarts of one pipeline for its next report."""

    def __init__(self) -> None:
        self._causes: dict[str, str] = {}
        self._epochs: dict[str, int] = {}
        self._checkpoint = 0

    def failed(self, vertex: str, cause: str) -> None:
        """Note that a subtask of this vertex has failed."""
        self._causes[vertex] = cause

    def began(self, vertex: str, epoch: int, checkpoint: int) -> None:
        """Note that a subtask of this vertex begins an execution."""
        self._epochs[vertex] = epoch
        self._checkpoint = checkpoint

    def started(self, topology: Topology, pipeline: str, name: str, at: float) -> RegionRestarted | None:
        """Make the report, because all subtasks have started; None: nothing has failed since the last report."""
        causes, epochs = self._causes, self._epochs
        self._causes, self._epochs = {}, {}
        if not causes:
            return None
        twice, lost = duplicates_possible(topology, epochs.keys()), losses_possible(topology, epochs.keys())
        return RegionRestarted(
            pipeline, name, epochs, self._checkpoint, causes, tuple(sorted(twice)), tuple(sorted(lost)), at
        )


def cannot_restart(failed: str, twice: Collection[str], cause: str) -> UnitFailure:
    """The failure that ends a pipeline whose restart would show rows twice."""
    return UnitFailure(
        FailureKind.FATAL,
        f"{failed} failed and would give other rows when it runs again; {', '.join(twice)} cannot drop what it has "
        f"already, and would show both: {cause}",
        f"{BEGIN_ANEW}; channel.retain = always keeps rows for sinks that fail",
    )
