"""Removes segments of a pipeline's channels that are no longer needed, and limits their size.

Rules. (1) A segment stays as long as something refers to it: a batch that is queued, under way or kept for a restarted
receiver; a state; a record in the store, savepoints included; a unit that the journal will repeat. A segment without
references is removed. (2) It is removed only if the scan before also found no reference, because a reference may be
moving from one holder to another. (3) When a job's segments take half of ``exchange.max-bytes``, a checkpoint is
requested, because it releases older segments; when they take all of it, the sources pause. A pipeline with a wide query
needs all of its input at once, and does not pause. (4) The segments of a pipeline that has ended delay no other
pipeline.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from seatunnel_py.protocol.coordinator.events import OperationRequested
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import Operation
from seatunnel_py.runtime.messages.effects import RemoveSegments
from seatunnel_py.runtime.state.shared_state import SharedState
from seatunnel_py.runtime.values.segment_names import batches_of, named_in, named_in_record
from seatunnel_py.work.unit import Slice

LOOK_BYTES = 64 * 2**20  # made since the last look: enough to look again
PAUSE_SECONDS = 0.2  # until paused sources look again whether there is room


class SegmentRetention:
    """Retains the segments of one pipeline; ``SharedUse.exchange_bytes`` is the total of all pipelines."""

    def __init__(self, state: SharedState) -> None:
        self._state = state
        self._sizes: dict[str, int] = {}
        self._of_records: dict[int, frozenset[str]] = {}
        self._needless: frozenset[str] = frozenset()
        self._unseen = 0
        self._due = False

    def made(self, slices: Iterable[Slice]) -> None:
        """Add the segments that a unit has written."""
        shared, most = self._state.context.shared, self._state.context.settings.exchange_max_bytes
        for one in slices:
            if one.stopped is not None:
                continue
            self._sizes[one.segment] = self._sizes.get(one.segment, 0) + one.bytes
            shared.exchange_bytes += one.bytes
            self._unseen += one.bytes
        if not self._sizes:
            return
        if self._unseen > min(LOOK_BYTES, most // 4):
            self._due = True
        if shared.exchange_bytes * 2 > most:
            self._ask_for_checkpoint()

    def completed(self, record: CheckpointRecord) -> None:
        """Note a durable record, and forget those that were removed from the store."""
        if not self._state.context.graph.topology.edges:
            return  # it names none, and looking through it would cost every checkpoint of every table
        view = self._state.view
        assert view is not None, "a checkpoint without a coordinator"
        self._of_records[record.checkpoint] = frozenset(named_in_record(record))
        for gone in self._of_records.keys() - view.completed:
            del self._of_records[gone]
        self._due = True

    def make_room(self) -> None:
        """Remove unneeded segments and request a checkpoint; paused sources try again after a while."""
        self._due = True
        self._ask_for_checkpoint()
        self._state.after(("exchange",), PAUSE_SECONDS)

    def scan_if_due(self) -> None:
        """Remove the segments that have no reference now and had none at the scan before. Call it once at the end of an
        event: amid it a letter may hold the only reference."""
        if not self._due:
            return
        self._due, self._unseen = False, 0
        if not self._sizes:
            return
        needless = frozenset(self._sizes.keys() - self._needed())
        gone = needless & self._needless
        self._needless = needless - gone
        for segment in gone:
            self._state.context.shared.exchange_bytes -= self._sizes.pop(segment)
        if gone:
            self._state.emit(RemoveSegments(gone))

    def end(self, *, done: bool) -> None:
        """Stop counting the rest: nothing of the pipeline will ever free it. If all rows have arrived, remove it; else
        the end of the job removes it, or the next driver reads it."""
        if done and self._sizes:
            self._state.emit(RemoveSegments(frozenset(self._sizes)))
        self.forget()

    def forget(self) -> None:
        """Forget all segments, because another machine replaces the pipeline; the end of the job removes them."""
        self._state.context.shared.exchange_bytes -= sum(self._sizes.values())
        self._sizes = {}

    def _needed(self) -> Set[str]:
        state, view = self._state, self._state.view
        needed = set[str]().union(*self._of_records.values())
        for subtask, participant in state.participants.items():
            for plain in participant.holds() if subtask not in state.isolated else ():
                needed.update(named_in(plain))
            for entry in state.context.shared.taken(state.context.key, subtask):
                needed.update(named_in(entry.range))
        if view is not None:
            for pending in view.pending:
                for snapshot in pending.snapshots:
                    needed.update(named_in([batches_of(snapshot.channel_state), snapshot.state]))
            for record in (*view.in_doubt, view.storing):
                needed.update(named_in_record(record) if record is not None else ())
        return needed

    def _ask_for_checkpoint(self) -> None:
        view = self._state.view
        if view is not None and self._state.takes_checkpoints and not view.requested:
            self._state.to_coordinator(OperationRequested(self._state.at, Operation()))
