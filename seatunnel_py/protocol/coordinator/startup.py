"""Starts a pipeline, or resumes it in a later driver.

Rules. (BE1) Checkpoint 0 is durable before any side effect (I10). (BE2) Set-up units run after it and before any data;
those that its record or a done record names do not run again. (BE3) A later driver restores the newest
record (I17) and first issues its uncommitted commits again (I28, P2). (BE4) After a final record no execution
starts: only commits remain. (BE5) If positions are void, a new checkpoint 0 durably replaces the newest record, and
everything starts from it; if rows after these positions may be visible, the pipeline ends
instead. (BE6) A record that is being stored is awaited: it may be the one after which no position is needed.
(BE7) A driver that starts again continues from the epochs that it has used: their workers may still be running.

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
        """True if positions became void while a record was being stored (BE6)."""

    def activate(self, incarnation: int) -> None:
        """Start, or resume from the newest record."""
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
        # Epochs of removed vertices are kept, because a vertex that returns must not reuse one.
        shared.epochs = {**dict.fromkeys(names, 0), **record.epochs}
        if record.kind is RecordKind.ZERO and record.previous:
            self.recovery.void = True  # journals may still hold older entries (BE5)
        self.recovery.joining.update(record.joined)
        shared.commits = CommitQueue.restored(record)
        shared.issue_commits()
        self.go_on()

    def go_on(self) -> None:
        """Perform the start effects of every table that still lacks them; then start the executions."""
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
        """Record that a set-up unit is done; a repeated report has no effect."""
        shared = self.shared
        if unit not in shared.set_up and shared.state is PipelineState.SETTING_UP:
            shared.set_up.add(unit)
            self.go_on()

    def zero_persisted(self, record: CheckpointRecord, at: float) -> bool:
        """Handle a durable checkpoint 0: the first, or one that voids earlier positions. False: no attempt is left."""
        shared = self.shared
        shared.stored(record)
        if shared.state not in (PipelineState.CREATED, PipelineState.SETTING_UP):
            return self.recovery.fail_void(at)
        self.go_on()
        return True

    def void(self) -> bool:
        """Request a new checkpoint 0, if positions are still needed. False: too late."""
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
