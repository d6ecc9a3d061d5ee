"""One durable write of records, and the answers that their pipelines get."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.protocol.commit.record_batcher import PersistTogether
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.messages.events import RecordNotStored, RecordStored
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore, FencedOffError
from seatunnel_py.runtime.storage.journal_writer import JournalBatcher
from seatunnel_py.runtime.targets.sink_operations import as_failure
from seatunnel_py.runtime.values import failpoints

Records = Mapping[str, CheckpointRecord]


class RecordWriter:
    """Of one driver."""

    def __init__(self, store: CheckpointStore, incarnation: int, journal: JournalBatcher) -> None:
        self._store = store
        self._incarnation = incarnation
        self._journal = journal

    def task(self, write: PersistTogether) -> Callable[[], None]:
        """The write, for the store's own thread; the journal then says that these records are durable."""
        return self._journal.mark(self._write, dict(write.records))

    def _write(self, records: Records) -> None:
        failpoints.BEFORE_RECORD.hit()
        self._store.write(self._incarnation, records)
        for record in records.values():
            failpoints.completed(record.kind).hit()

    @staticmethod
    def answers(records: Records, error: BaseException | None) -> dict[str, RecordStored | RecordNotStored]:
        """By pipeline. Raises an error that is no answer of a store, but a mistake of ours."""
        if error is None:
            return {key: RecordStored(record.checkpoint) for key, record in records.items()}
        if not isinstance(error, SeaTunnelError):
            raise error
        failure, fenced = as_failure(error), isinstance(error, FencedOffError)
        return {key: RecordNotStored(record.checkpoint, failure, fenced) for key, record in records.items()}
