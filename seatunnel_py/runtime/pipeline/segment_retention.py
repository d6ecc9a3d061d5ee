"""Which segments of a pipeline's channels are still needed, and what is done when they take too much room.

Rules. (1) A segment stays as long as something refers to it: a batch that is queued, under way or kept for a restarted
receiver; a state; a record in the store, savepoints included; what the journal will repeat. So everything that could
still ask for it is looked through, and what nobody names is removed. (2) What is found needless is removed at the next
look only: in between it may have been on its way from one holder to another. (3) When a job's segments take half of
``exchange.max-bytes`` a checkpoint is asked for, because records and kept batches let go of what is older; when they
take all of it the sources pause. A pipeline with a wide query needs all of its input at once, and is not held up.
(4) What drivers that were killed left behind is looked through while nothing is under way: before the first unit, and
behind the last one of a job that was stopped. Then only the store and the journal can name a segment.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from functools import partial
from typing import TYPE_CHECKING

from seatunnel_py.protocol.coordinator.events import OperationRequested
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import Operation
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore
from seatunnel_py.runtime.values.segment_names import batches_of, named_in, named_in_record
from seatunnel_py.work import segments as files
from seatunnel_py.work.unit import Slice

if TYPE_CHECKING:
    from seatunnel_py.api.storage import Storage
    from seatunnel_py.runtime.pipeline.runner import PipelineRunner
    from seatunnel_py.runtime.storage.journal import Journal

LOOK_BYTES = 64 * 2**20  # made since the last look: enough to look again
PAUSE_SECONDS = 0.2  # until paused sources look again whether there is room


class SegmentRetention:
    """Of one pipeline. ``size`` is what those take that are known and not removed."""

    def __init__(self, life: PipelineRunner) -> None:
        self._life = life
        self._sizes: dict[str, int] = {}
        self._of_records: dict[int, frozenset[str]] = {}
        self._needless: frozenset[str] = frozenset()
        self._unseen = 0

    @property
    def size(self) -> int:
        return sum(self._sizes.values())

    def made(self, slices: Iterable[Slice]) -> None:
        """A unit has written these."""
        for one in slices:
            self._sizes[one.segment] = self._sizes.get(one.segment, 0) + one.bytes
            self._unseen += one.bytes
        if not self._sizes:
            return  # without channels: to add up what all pipelines hold would cost each unit of each table a look
        if self._unseen > min(LOOK_BYTES, self._life.settings.exchange_max_bytes // 4):
            self.look()
        if self._life.world.exchanged() * 2 > self._life.settings.exchange_max_bytes:
            self._ask_for_checkpoint()

    def completed(self, record: CheckpointRecord) -> None:
        """A record is durable; some may have left the store."""
        if not self._life.graph.topology.edges:
            return  # it names none, and looking through it would cost every checkpoint of every table
        view = self._life.view
        assert view is not None, "a checkpoint without a coordinator"
        self._of_records[record.checkpoint] = frozenset(named_in_record(record))
        for gone in self._of_records.keys() - view.completed:
            del self._of_records[gone]
        self.look()

    @property
    def full(self) -> bool:
        """Whether sources have to pause (``flow_control.py``)."""
        return (
            not self._life.sends_end_markers and self._life.world.exchanged() > self._life.settings.exchange_max_bytes
        )

    def make_room(self) -> None:
        """As much as can be; paused sources look again after a while."""
        self.look()
        self._ask_for_checkpoint()
        self._life.after(("exchange",), PAUSE_SECONDS, self._life.go_on)

    def look(self) -> None:
        """Remove what was needless at the last look too."""
        self._unseen = 0
        if not self._sizes:
            return
        needless = frozenset(self._sizes.keys() - self._needed())
        gone = needless & self._needless
        self._needless = needless - gone
        for segment in gone:
            del self._sizes[segment]
        if gone:
            self._life.world.aside(partial(files.remove, gone), lambda _: None, lambda _: None)  # swept at the end

    def _needed(self) -> Set[str]:
        life, view = self._life, self._life.view
        needed = set[str]().union(*self._of_records.values())
        for subtask, run in life.subtasks.items():
            for plain in run.participant.holds() if subtask not in life.left_out else ():
                needed.update(named_in(plain))
            for entry in life.world.taken(life.key, subtask):
                needed.update(named_in(entry.range))
        if view is not None:
            for pending in view.pending:
                for snapshot in pending.snapshots:
                    needed.update(named_in([batches_of(snapshot.channel_state), snapshot.state]))
            if view.storing is not None:
                needed.update(named_in_record(view.storing))
        return needed

    def _ask_for_checkpoint(self) -> None:
        view = self._life.view
        if view is None or view.settings.interval is None:
            return  # without an interval nothing may become visible early
        if not view.requested:
            self._life.hear(OperationRequested(self._life.now(), Operation()))


def sweep(location: str, newest: int, storage: Storage, journal: Journal) -> None:
    """Remove what nobody names of what was written for drivers up to ``newest``: a later one may be at work."""
    left = [url for driver, url in files.left_in(location) if driver <= newest]
    if not left:
        return
    named = set(named_in(list(journal.lines())))
    for record in (one for kept in CheckpointStore(storage).read().records.values() for one in kept):
        if not isinstance(record, CheckpointRecord):
            return  # nobody knows what a damaged one names
        named.update(named_in_record(record))
    kept = {segment.rpartition("/")[2] for segment in named}  # the same place may be written in several ways
    files.remove(url for url in left if url.rpartition("/")[2] not in kept)
