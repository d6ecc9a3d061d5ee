"""Writes records to the store, and makes the answers for their pipelines."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.protocol.commit.record_batcher import PersistTogether
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.messages.events import RecordNotStored, RecordStored
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore, FencedOffError
from seatunnel_py.runtime.storage.journal_writer import JournalBatcher
from seatunnel_py.runtime.targets.call_failure import as_failure
from seatunnel_py.runtime.values import failpoints

Records = Mapping[str, CheckpointRecord]


class RecordWriter:
    """Writes the records of one driver; one task is under way at a time."""

    def __init__(self, store: CheckpointStore, incarnation: int, journal: JournalBatcher) -> None:
        self._sizes: Mapping[str, int] = {}  # of the last write: set on the store's thread, read after its end
        self._store = store
        self._incarnation = incarnation
        self._journal = journal

    def task(self, write: PersistTogether) -> Callable[[], None]:
        """Return a task for the store's thread: it writes the records, then marks them as durable in the journal."""
        return self._journal.mark(self._write, dict(write.records))

    def _write(self, records: Records) -> None:
        failpoints.BEFORE_RECORD.hit()
        self._sizes = self._store.write(self._incarnation, records)
        for record in records.values():
            failpoints.completed(record.kind).hit()

    def answers(self, records: Records, error: BaseException | None) -> dict[str, RecordStored | RecordNotStored]:
        """Return the answer for each pipeline. Raises an error that did not come from the store: it is a bug."""
        if error is None:
            return {key: RecordStored(record.checkpoint, self._sizes[key]) for key, record in records.items()}
        if not isinstance(error, SeaTunnelError):
            raise error
        failure, fenced = as_failure(error), isinstance(error, FencedOffError)
        return {key: RecordNotStored(record.checkpoint, failure, fenced) for key, record in records.items()}
