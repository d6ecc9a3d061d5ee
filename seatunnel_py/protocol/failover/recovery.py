"""Restarts subtasks after a failure: decides which, when, and from which record.

Rules. (RE1) All pending checkpoints are aborted before an execution ends or starts (I24). (RE2) A record that is being
stored is awaited: it may be the one to restore. Records in doubt are made void first (PS3): a later driver must not
resume from one of them after its pieces were deleted, or its inputs taken again in another order. (RE3) A failure
before all subtasks have started joins the current restart: the region is that of all failures, the record is the same
(I26). (RE4) Subtasks start only when all restarted ones are ready (O5.4). (RE5) The number of restarts is limited and
pauses grow; a stable period resets both. (RE6) A restarted source has ended only if it has in its snapshot (I46). (RE7)
If the newest record holds batches that their sender will not produce again, nothing can be restored (I22). (RE8) A
vertex whose attempts are used up is isolated if the policy allows it and something else remains to run: nothing
restarts for it any longer. (RE9) Journal entries of executions that were cut stay void until the rejoining vertices
have started, after any number of restarts (RJ4).

May not know: which checkpoints are pending, and the content of a record except its snapshots.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from seatunnel_py.protocol.coordinator.commands import SendStart, SetTimer
from seatunnel_py.protocol.coordinator.coordinator_state import CoordinatorState
from seatunnel_py.protocol.coordinator.isolating import Isolating
from seatunnel_py.protocol.coordinator.isolation import isolable
from seatunnel_py.protocol.failover.decisions import (
    FIRST_LEVEL,
    RESTARTING,
    FailoverAction,
    FailoverDecision,
    FailoverPolicy,
    Repeatability,
    RetryLimits,
    consequences,
    decide,
)
from seatunnel_py.protocol.failover.regions import RestartPlan, plan_joining, plan_restart, restart_set, unsound
from seatunnel_py.protocol.model.backoff import Backoff, Retries
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.lifecycle import PipelineEvent
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.stream_elements import JournalUse

RESTART = "restart"


class Recovery:
    """Runs the restarts of one pipeline.

    - ``retries``: by vertex; for the whole pipeline under the empty name.
    - ``failed``: vertices of the current restart; ``waiting``: restarted subtasks that are not ready yet.
    - ``joining``: rejoining vertices that have not started yet (RE9); ``resumed``: all have just started.
    - ``undroppable``: sinks whose pieces are visible as soon as they are staged.
    - ``shows_twice``: undroppable sinks that prevented the last restart (FO2).
    """

    def __init__(
        self,
        shared: CoordinatorState,
        leaving: Isolating,
        backoff: Backoff,
        policy: FailoverPolicy,
        undroppable: Iterable[str] = (),
    ) -> None:
        self.shared = shared
        self.leaving = leaving
        self.policy = policy
        self.undroppable = frozenset(undroppable)
        self.shows_twice: tuple[str, ...] = ()
        self.backoff = backoff
        self.retries: dict[str, Retries] = {}
        self.failed: set[str] = set()
        self.joining: set[str] = set()
        self.waiting: set[Subtask] = set()
        self.beginning: tuple[Subtask, ...] = ()
        self.due = False
        self.void = False
        self.hopeless = False
        self.resumed = False

    @property
    def under_way(self) -> bool:
        """A subtask has failed, and not all have started again."""
        return bool(self.failed)

    def fail(self, vertex: str, at: float, reason: Reason) -> bool:
        """Restart this vertex after a pause, or isolate it (RE8). False: neither is possible.

        Called when the attempts at a unit are used up.
        """
        decision = self._decide(vertex, at, reason)
        self.retries[vertex] = decision.restarts
        if decision.action is FailoverAction.ISOLATE_TABLE:
            self._left(self.leaving.cut(vertex))
        elif decision.action is FailoverAction.RESTART_REGION:
            self._pause([vertex], decision.delay)
        return decision.action is not FailoverAction.FAIL_PIPELINE

    def tries_on(self, vertex: str, at: float, reason: Reason) -> bool:
        """True if a retriable unit is tried forever, because no restart can help (FO9)."""
        return self._decide(vertex, at, reason, endless=True).action is FailoverAction.RETRY_UNIT

    def _decide(self, vertex: str, at: float, reason: Reason, *, endless: bool = False) -> FailoverDecision:
        topology, limits = self.shared.topology, RetryLimits(restarts=self.backoff, policy=self.policy)
        self.shows_twice = self._shown_twice([vertex]) if FIRST_LEVEL[reason] in RESTARTING else ()
        return decide(
            reason,
            limits,
            at=at,
            attempts=limits.attempts,
            restarts=self.retries.get(vertex, Retries()),
            isolable=isolable(topology, vertex),
            undroppable=bool(self.shows_twice),
            endless=endless,
        )

    def _shown_twice(self, vertices: Collection[str]) -> tuple[str, ...]:
        """The sinks that would show rows twice after a restart of these vertices."""
        if not self.undroppable:
            return ()
        topology = self.shared.topology
        found = consequences(topology, restart_set(topology, vertices), self.undroppable)
        return tuple(one.sink for one in found if one.replay is Repeatability.FAIL_PIPELINE)

    def _left(self, gone: frozenset[str]) -> None:
        """Stop waiting for vertices that have left, and reset their attempts in case they rejoin."""
        self.retries = {name: used for name, used in self.retries.items() if name not in gone}
        self.beginning = tuple(one for one in self.beginning if one.vertex not in gone)
        if self.waiting:
            self.waiting = {one for one in self.waiting if one.vertex not in gone}
            self._start_if_ready()

    def fail_all(self, at: float) -> bool:
        """Restart everything after a pause. False: no attempt is left, or rows would be shown twice."""
        self.shows_twice = self._shown_twice(self.shared.topology.live)
        if self.shows_twice:
            return False
        self.retries[""], pause = self.backoff.next(self.retries.get("", Retries()), at)
        if pause is None:
            return False
        self._pause(self.shared.topology.live, pause)
        return True

    def _pause(self, vertices: Collection[str], pause: float) -> None:
        self.failed.update(vertices)
        self.waiting.clear()
        self.due = False
        self.shared.advance(PipelineEvent.SUBTASK_FAILED)
        self.shared.say(SetTimer(RESTART, pause))

    def fail_void(self, at: float) -> bool:
        """Restart everything with void journals."""
        self.void = True
        return self.fail_all(at)

    def pause_over(self) -> None:
        """The pause has ended; the restart follows as soon as the store has replied (RE2)."""
        self.due = self.under_way
        self.begin()

    def begin(self) -> None:
        """Restart the failed vertices, if the pause and the store allow it."""
        shared = self.shared
        if not self.due or shared.storing is not None or shared.kept:
            return
        if shared.in_doubt:
            shared.void_in_doubt()
            return
        self.due = False
        shared.advance(PipelineEvent.BACKOFF_OVER)
        self.begin_lives(self.failed)

    def begin_lives(self, vertices: Collection[str]) -> None:
        """Restart the region of ``vertices`` from the newest record, and notify the others."""
        shared = self.shared
        self.failed.update(vertices)
        self._begin(plan_restart(shared.topology, self.failed, shared.epochs, shared.newest, shared.incarnation))

    def join(self, vertices: Collection[str]) -> None:
        """Start rejoining vertices from the newest record, together with a current restart if there is one."""
        shared = self.shared
        assert shared.newest is not None, "they come back with a record"
        self.joining.update(vertices)
        if not self.under_way:
            shared.advance(PipelineEvent.SUBTASK_FAILED)
            shared.advance(PipelineEvent.BACKOFF_OVER)
            self._begin(plan_joining(shared.topology, vertices, shared.epochs, shared.newest, shared.incarnation))
        self.failed.update(vertices)

    def _begin(self, plan: RestartPlan) -> None:
        shared = self.shared
        shared.epochs = {**shared.epochs, **plan.epochs}
        for restart in plan.restarts:
            shared.ended.discard(restart.subtask)
            if restart.snapshot is not None and restart.snapshot.ended:
                shared.ended.add(restart.subtask)
        void = plan.vertices if self.void else self.joining
        restarts = tuple(
            replace(restart, replay=JournalUse.VOID) if restart.subtask.vertex in void else restart
            for restart in plan.restarts
        )
        self.hopeless = bool(unsound(shared.topology, shared.newest, restarts))
        if self.hopeless:
            return
        self.failed.update(plan.vertices)
        self.beginning = tuple(restart.subtask for restart in restarts)
        self.waiting = set(self.beginning)
        shared.say(*plan.peers)
        shared.say(*restarts)
        self._start_if_ready()

    def ready(self, subtask: Subtask) -> None:
        """A restarted subtask is ready."""
        if subtask in self.waiting:
            self.waiting.discard(subtask)
            self._start_if_ready()

    def _start_if_ready(self) -> None:
        """Start all restarted subtasks once the last one is ready (RE4); none are left if they were isolated."""
        if self.waiting:
            return
        shared = self.shared
        for one in self.beginning:
            shared.say(SendStart(one, shared.incarnation, shared.epochs[one.vertex]))
        self.failed.clear()
        self.joining.clear()
        self.void = False
        shared.advance(PipelineEvent.ALL_READY)
        self.resumed = True
