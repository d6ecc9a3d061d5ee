"""What a restart means, for people and for targets: who failed and why, who began again, what may come of it.

Rules. (1) A restart is told once, when all that restarted have started, with everybody who failed until then. (2) Sinks
that may show rows twice by it are named, and so are sources that cannot read again what they gave (FO3, FO4). (3) It is
not begun where a two-phase sink would show rows of both lives, for what it staged cannot be dropped (FO2).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from seatunnel_py.api.sink import Visible
from seatunnel_py.errors import BEGIN_ANEW
from seatunnel_py.plan.pipelines import Vertex
from seatunnel_py.protocol.coordinator.coordinator import Coordinator
from seatunnel_py.protocol.failover.decisions import Replay, consequences, duplicates_possible, losses_possible
from seatunnel_py.protocol.failover.regions import restart_set
from seatunnel_py.protocol.model.backoff import Retries
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.topology import Topology
from seatunnel_py.runtime.observe.events import RegionRestarted
from seatunnel_py.runtime.targets.sink_operations import Prepared
from seatunnel_py.work.unit import FailureKind, UnitFailure


class Restarts:
    """Of one pipeline."""

    def __init__(self) -> None:
        self._causes: dict[str, str] = {}
        self._known: set[tuple[str, int, Reason]] = set()
        self._epochs: dict[str, int] = {}
        self._checkpoint = 0

    def failed(self, vertex: str, epoch: int, reason: Reason, cause: str) -> bool:
        """False: it is known already. A vertex restarts as a whole, so that another subtask of it which fails for the
        same reason costs no further attempt; nor does one that says it again."""
        self._causes[vertex] = cause
        failure = (vertex, epoch, reason)
        known = failure in self._known
        self._known.add(failure)
        return not known

    def began(self, vertex: str, epoch: int, checkpoint: int) -> None:
        """A subtask of this vertex has been told to begin a life."""
        self._epochs[vertex] = epoch
        self._checkpoint = checkpoint

    def started(self, topology: Topology, pipeline: str, name: str, at: float) -> RegionRestarted | None:
        """All of them have started; None: not after a failure, or it was told already."""
        causes, epochs = self._causes, self._epochs
        self._causes, self._epochs, self._known = {}, {}, set()
        if not causes:
            return None
        twice, lost = duplicates_possible(topology, epochs.keys()), losses_possible(topology, epochs.keys())
        return RegionRestarted(
            pipeline, name, epochs, self._checkpoint, causes, tuple(sorted(twice)), tuple(sorted(lost)), at
        )


def may_restart(coordinator: Coordinator | None, vertex: str, at: float) -> bool:
    """Whether the coordinator would answer a failure of this vertex with a restart."""
    if coordinator is None:
        return False
    recovery = coordinator.recovery
    return recovery.backoff.next(recovery.retries.get(vertex, Retries()), at)[1] is not None


def shown_twice(topology: Topology, failed: str, vertices: Collection[Vertex], prepared: Prepared) -> tuple[str, ...]:
    """The sinks for which this failure cannot be answered by a restart. A sink that is fused with its source names what
    it stages by positions, and is asked for these again; behind a channel names are numbers, which now mean others."""
    sinks: Mapping[str, Vertex] = {vertex.id: vertex for vertex in vertices if vertex.inputs and vertex.sinks}
    undroppable = [
        name
        for name, vertex in sinks.items()
        if any(prepared.setups[node.id].visible is not Visible.COMMITTED for node in vertex.sinks)
    ]
    found = consequences(topology, restart_set(topology, [failed]), undroppable)
    return tuple(one.sink for one in found if one.replay is Replay.FAIL_PIPELINE)


def cannot_restart(failed: str, twice: Collection[str], cause: str) -> UnitFailure:
    """What people read then."""
    return UnitFailure(
        FailureKind.FATAL,
        f"{failed} failed and would give other rows when it runs again; {', '.join(twice)} cannot drop what it has "
        f"already, and would show both: {cause}",
        f"{BEGIN_ANEW}; channel.retain = always keeps rows for sinks that fail",
    )
