"""Batches checkpoint records of several pipelines into one write to the store; their commits are then one request to
the target.

Rules. (1) A record waits only while a checkpoint of another pipeline is under way, for at most ``MOMENT_SECONDS``.
(2) Checkpoint 0 of a pipeline does not wait, because nothing runs before it is durable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from seatunnel_py.protocol.commit.record_batcher import PersistTogether, RecordBatch
from seatunnel_py.protocol.coordinator.view import CoordinatorView
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind

MOMENT_SECONDS = 0.05  # 200 tables, every second: their records come within a few of them
PART_OF_INTERVAL = 20  # the moment is no longer than this part


class Viewed(Protocol):
    """A pipeline with a coordinator."""

    @property
    def view(self) -> CoordinatorView | None:
        """The state of its coordinator; None: it has not begun."""


class RecordBatcher:
    """Batches the records of one driver. ``after``: schedules a call of ``moment_over``; ``write``: starts a write."""

    def __init__(
        self,
        pipelines: Mapping[str, Viewed],
        interval: float | None,
        after: Callable[[float], None],
        write: Callable[[PersistTogether], None],
    ) -> None:
        self._batch = RecordBatch()
        self._pipelines = pipelines
        self._after, self._begin_write = after, write
        self._moment = MOMENT_SECONDS if interval is None else min(MOMENT_SECONDS, interval / PART_OF_INTERVAL)
        self._armed = False
        self._seen = 0
        self._awaited: str | None = (
            None  # pipeline whose record may come; found again only if needed, for there may be a thousand
        )

    def add(self, pipeline: str, record: CheckpointRecord) -> None:
        """Add a record to the next write."""
        self._batch.add(pipeline, record)

    def forget(self, pipeline: str) -> None:
        """Discard the waiting record of a pipeline that has ended."""
        self._batch.forget(pipeline)

    def stored(self, number: int) -> Mapping[str, CheckpointRecord]:
        """Note that a write has ended; return its records by pipeline."""
        self._seen = 0
        return self._batch.stored(number)

    def look(self) -> None:
        """Start a write if records wait and none is under way; wait for other records if some may come."""
        waiting = self._batch.waiting
        if not waiting or self._batch.writing or (self._armed and len(waiting) == self._seen):
            return
        self._seen = len(waiting)
        if not self._others_may_come(waiting):
            self._write()
        elif not self._armed:
            self._armed = True
            self._after(self._moment)

    def moment_over(self) -> None:
        """Write all waiting records now."""
        self._armed = False
        self._write()

    def _write(self) -> None:
        if (write := self._batch.write()) is not None:
            self._begin_write(write)

    def _others_may_come(self, waiting: Mapping[str, CheckpointRecord]) -> bool:
        if any(record.kind is RecordKind.ZERO for record in waiting.values()):
            return False
        if self._awaited is None or not self._may_come(self._awaited, waiting):
            self._awaited = next((key for key in self._pipelines if self._may_come(key, waiting)), None)
        return self._awaited is not None

    def _may_come(self, pipeline: str, waiting: Mapping[str, CheckpointRecord]) -> bool:
        if pipeline in waiting:  # most of them, at the end of a job with many tables
            return False
        view = self._pipelines[pipeline].view
        return view is not None and bool(view.pending)
