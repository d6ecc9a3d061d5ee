"""How a pipeline begins, once, and how a later driver goes on with it.

Rules. (BE1) Before any side effect there is checkpoint 0 (I10). (BE2) Set-up units run behind it and before any data,
and what its record or a done record names is not run again. (BE3) A driver that comes later restores the newest
record (I17) and first issues again what that names as uncommitted (I28, P2). (BE4) Behind a final record no life
begins: only commits are left. (BE5) Positions that are void are worth nothing: a new checkpoint 0 takes the place of
the newest record, durably, and everything begins from it; where rows of them may be visible the pipeline ends
instead. (BE6) What the store has in hand is waited for: it may be the record behind which no position is needed.
(BE7) A driver that begins anew counts on from the epochs that it has lived: workers of those may still be at work.

May not know: where records come from.
"""

from __future__ import annotations

from dataclasses import replace

from seatunnel_py.protocol.commit.commit_queue import CommitQueue
from seatunnel_py.protocol.coordinator.commands import Persist, SetUp
from seatunnel_py.protocol.coordinator.coordinator_state import CoordinatorState
from seatunnel_py.protocol.failover.recovery import Recovery
from seatunnel_py.protocol.model.lifecycle import PipelineEvent, PipelineState
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind


class Startup:
    """``set_up`` names the set-up units."""

    def __init__(self, shared: CoordinatorState, recovery: Recovery, set_up: tuple[str, ...]) -> None:
        self.shared = shared
        self.recovery = recovery
        self.set_up = set_up
        self.lost = False
        """Positions became void while a record was being stored (BE6)."""

    def activate(self, incarnation: int) -> None:
        """Begin, or go on from the newest record."""
        shared, record = self.shared, self.shared.newest
        shared.incarnation = incarnation
        names = shared.topology.by_id
        if record is None:
            shared.epochs = {**dict.fromkeys(names, 0), **shared.epochs}
            shared.storing = CheckpointRecord(
                shared.take_id(), incarnation, RecordKind.ZERO, 0, shared.topology, dict(shared.epochs), {},
                plan=shared.plan,
            )  # fmt: skip
            shared.say(Persist(shared.storing))
            return
        # Those of vertices that are gone are kept: one that comes back must not live an epoch again.
        shared.epochs = {**dict.fromkeys(names, 0), **record.epochs}
        if record.kind is RecordKind.ZERO and record.previous:
            self.recovery.void = True  # journals may still hold what was taken before it (BE5)
        self.recovery.joining.update(record.joined)
        shared.commits = CommitQueue.restored(record)
        shared.issue_commits()
        self.go_on()

    def go_on(self) -> None:
        """Start effects of every table that has none yet; then lives begin."""
        shared, newest = self.shared, self.shared.newest
        assert newest is not None, "a set-up before checkpoint 0"
        left = [unit for unit in self.set_up if unit not in shared.set_up]
        if left and shared.state is PipelineState.CREATED:
            shared.advance(PipelineEvent.SET_UP)
            shared.say(*(SetUp(unit, newest.checkpoint) for unit in left))
        if left or shared.storing is not None:
            return
        shared.advance(PipelineEvent.RESTORE)
        if newest.kind is RecordKind.FINAL:
            shared.kept = True
        else:
            self.recovery.begin_lives(shared.topology.live)

    def set_up_done(self, unit: str) -> None:
        """One more; said twice it is done once."""
        shared = self.shared
        if unit not in shared.set_up and shared.state is PipelineState.SETTING_UP:
            shared.set_up.add(unit)
            self.go_on()

    def zero_persisted(self, record: CheckpointRecord, at: float) -> bool:
        """Checkpoint 0 is durable, the first or one that voids what came before. False: no attempt is left."""
        shared = self.shared
        shared.newest, shared.storing = record, None
        if shared.state not in (PipelineState.CREATED, PipelineState.SETTING_UP):
            return self.recovery.fail_void(at)
        self.go_on()
        return True

    def void(self) -> bool:
        """Ask for a new checkpoint 0, if positions are still needed. False: it is too late for that."""
        shared, newest = self.shared, self.shared.newest
        self.lost = shared.storing is not None
        if self.lost or shared.kept:
            return True
        if newest is None or shared.commits.ledgers or shared.commits.waiting:
            return False
        shared.storing = replace(
            newest, checkpoint=shared.take_id(), kind=RecordKind.ZERO, previous=newest.checkpoint,
            incarnation=shared.incarnation, epochs=dict(shared.epochs), snapshots={}, name="",
        )  # fmt: skip
        shared.say(Persist(shared.storing))
        return True
