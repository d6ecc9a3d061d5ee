"""Records of many pipelines on their way to the store together.

A job of hundreds of tables has as many pipelines; a durable write for each record would cost more than their rows. So
records that become ready during a write go into the next write together.

Rules. (HU1) At most one write is under way; it is one durable act for all records in it (I10). (HU2) A pipeline has at
most one record here: the newest. (HU3) The outcome of a write is that of every record in it, and concerns no other
pipeline (O5.1). (HU4) A pipeline that ends takes back a record that waits: it was never durable.

May not know: the purpose of a checkpoint, nor when a write is worth it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seatunnel_py.protocol.model.records import CheckpointRecord


@dataclass(frozen=True, slots=True)
class PersistTogether:
    """Store all these records (by pipeline) in one durable write. Answer: ``RecordBatch.stored`` with its number."""

    number: int
    records: Mapping[str, CheckpointRecord]


class RecordBatch:
    """Gathers records until the next write."""

    def __init__(self) -> None:
        self._waiting: dict[str, CheckpointRecord] = {}
        self._under_way: PersistTogether | None = None
        self._writes = 0

    def add(self, pipeline: str, record: CheckpointRecord) -> None:
        """Take a record that is to be stored."""
        self._waiting[pipeline] = record

    def forget(self, pipeline: str) -> None:
        """The pipeline has ended (HU4)."""
        self._waiting.pop(pipeline, None)

    @property
    def writing(self) -> bool:
        """True while a write is in progress."""
        return self._under_way is not None

    @property
    def waiting(self) -> Mapping[str, CheckpointRecord]:
        """Records of the next write."""
        return self._waiting

    def write(self) -> PersistTogether | None:
        """The next write; None: one is under way, or there is nothing to store."""
        if self._under_way is not None or not self._waiting:
            return None
        self._writes += 1
        self._under_way = PersistTogether(self._writes, self._waiting)
        self._waiting = {}
        return self._under_way

    def stored(self, number: int) -> Mapping[str, CheckpointRecord]:
        """The write of this number has ended: its records, for all of which it has ended alike."""
        write = self._under_way
        if write is None or write.number != number:
            return {}
        self._under_way = None
        return write.records
