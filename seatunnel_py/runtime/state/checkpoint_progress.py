"""Facts about the checkpoints of one pipeline, for reports. It decides nothing.

Rule. A checkpoint counts as committed once no commit of it, or of an earlier one, waits for its target; commits that a
target refuses for good do not count.
"""

from __future__ import annotations

from dataclasses import replace

from seatunnel_py.protocol.coordinator.pending import CheckpointTiming
from seatunnel_py.protocol.coordinator.view import CoordinatorView
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.runtime.counts.table_totals import rows_in
from seatunnel_py.runtime.observe.events import CheckpointFacts


class CheckpointProgress:
    """Progress of one pipeline. ``record_bytes``: size of the newest durable record."""

    def __init__(self) -> None:
        self.record_bytes = 0
        self._rows = 0
        self._uncommitted: set[int] = set()

    def begins_with(self, record: CheckpointRecord | None) -> None:
        """Start to count after this record, whose commits are due again."""
        self._rows = rows_in(record)
        self._uncommitted = {one.checkpoint for one in record.uncommitted} if record is not None else set()

    def facts(self, timing: CheckpointTiming, completed: CheckpointRecord | None) -> CheckpointFacts:
        """The facts of a checkpoint that has ended. ``completed``: its record, None: it has failed."""
        facts = CheckpointFacts(
            _word(timing.kind), timing.name, timing.triggered_at, timing.acknowledged_at, str(timing.slowest or "")
        )
        if completed is None:
            return facts
        before, self._rows = self._rows, rows_in(completed)
        return replace(facts, kind=_word(completed.kind), bytes=self.record_bytes, rows=self._rows - before)

    def committed(self, view: CoordinatorView, completed: int | None = None) -> list[int]:
        """The checkpoints that are committed since the last call, oldest first. ``completed``: one that is durable
        since then."""
        commits = view.commits
        waiting = {one.checkpoint for one in commits.waiting if one.scope not in commits.refused}
        if completed is not None:
            self._uncommitted.add(completed)
        oldest = min(waiting, default=None)
        found = sorted(one for one in self._uncommitted if oldest is None or one < oldest)
        self._uncommitted.difference_update(found)
        return found


def _word(kind: RecordKind) -> str:
    """The word for a kind of record; its stored spelling is older."""
    return kind.name.lower()
