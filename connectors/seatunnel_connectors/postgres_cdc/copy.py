"""Copies the rows of tables before the log: tables are divided and read as by Jdbc, under snapshots of slots.

If a snapshot is lost with its session, the rest is read under another one, and the log from the first one. An update
may have moved a row meanwhile, from blocks that were not read into blocks that were. Then no later split would have it,
and the log may lack its large values (TOAST). So splits by blocks take such rows, too (``read/reader.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from seatunnel_connectors.copied_rows import CopyReader
from seatunnel_connectors.jdbc.dialect import Snapshot
from seatunnel_connectors.jdbc.postgres.read.reader import MOVED_SINCE
from seatunnel_connectors.jdbc.postgres.read.snapshot import PostgresSnapshot
from seatunnel_connectors.jdbc.source.source import JdbcEnumerator, JdbcSource
from seatunnel_connectors.postgres_cdc.claim import LogClaims, LogNames
from seatunnel_connectors.postgres_cdc.slot_snapshots import LOG_POSITION, SlotKeepers
from seatunnel_py.api import Enumerator, Plain, Reader, SourceTable, Split

SLOT = "slot"
"""Key of a split's payload: the name of the slot with the changes after it."""
MADE = "made"
"""Key of a split's payload: what this job has created at the server, of slot and publication."""
_HIDDEN = "hidden"
"""Key of a split's payload: ``Keeper.oldest_hidden`` of its first snapshot."""


@dataclass(frozen=True, slots=True)
class CopySource(JdbcSource):
    """The rows of tables at a place of the log. ``names``: its slot; None: the log is not followed."""

    names: LogNames | None = None
    wait_seconds: float = 60.0

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        return CopyEnumerator(self, tables, known=state is not None)

    def reader(self, table: SourceTable) -> Reader:
        return CopyReader(self.address, table)


class CopyEnumerator(JdbcEnumerator):
    """Divides tables under one snapshot, which every split names. ``known``: an earlier driver has copied parts."""

    def __init__(self, source: CopySource, tables: Sequence[SourceTable], *, known: bool) -> None:
        super().__init__(source, tables)
        self._copy = source
        self._known = known

    def discover(self) -> Iterable[Split]:
        if not self.tables:
            return ()
        self._claim()
        return [self._placed(split) for split in super().discover()]

    def renew(self, splits: Sequence[Split]) -> Sequence[Split]:
        self._claim()
        return [self._placed(split) for split in splits]

    def snapshot(self) -> Plain:
        return {SLOT: self._copy.names.slot} if self._copy.names is not None else {}

    def _claim(self) -> None:
        """Create the slot before the snapshot, so that the log holds all changes after it."""
        source = self._copy
        if source.names is not None:
            claims = source.registry.get(LogClaims)
            claims.claim(source.address, source.names, known=self._known, wait_seconds=source.wait_seconds)

    def open_snapshot(self) -> Snapshot:
        keepers = self._copy.registry.get(SlotKeepers)
        keepers.wait_seconds = self._copy.wait_seconds
        # The snapshot of another step may be older than the slot of this one, whose log would lack changes (F-C17).
        share = self._copy.names.slot if self._copy.names is not None else ""
        return PostgresSnapshot(self._copy.address, self.all, keepers, share)

    def _placed(self, split: Split) -> Split:
        snapshot = self._snapshot()
        assert isinstance(snapshot, PostgresSnapshot), "copies are made under snapshots of slots"
        known = split.payload.get(LOG_POSITION)
        # A part that was read under an earlier snapshot lacks all changes since that one.
        begins = min(snapshot.keeper.log_position, known) if isinstance(known, int) else snapshot.keeper.log_position
        payload = {**split.payload, "snapshot": snapshot.generation, LOG_POSITION: begins}
        payload[_HIDDEN] = split.payload.get(_HIDDEN, snapshot.keeper.oldest_hidden)
        if _HIDDEN in split.payload and snapshot.generation != split.payload.get("snapshot"):
            payload[MOVED_SINCE] = payload[_HIDDEN]
        if self._copy.names is not None:
            payload[SLOT] = self._copy.names.slot
            if made := self._copy.registry.get(LogClaims).made.get(self._copy.names.slot):
                payload[MADE] = [*made]
        return replace(split, payload=payload, generation=snapshot.generation)
