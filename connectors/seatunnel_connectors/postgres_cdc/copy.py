"""Copies the rows of tables before the log: tables are divided and read as by Jdbc, under snapshots of slots.

If a snapshot is lost, the rest is read under another one (``block_renewal``), and the log from the first one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from seatunnel_connectors.copied_rows import CopyReader
from seatunnel_connectors.jdbc.dialect import Snapshot
from seatunnel_connectors.jdbc.postgres.connection.session import literal, quote
from seatunnel_connectors.jdbc.postgres.read.block_renewal import FILE, HIDDEN, TableFile, by_blocks, renewed
from seatunnel_connectors.jdbc.postgres.read.snapshot import Keeper, PostgresSnapshot
from seatunnel_connectors.jdbc.source.source import JdbcEnumerator, JdbcSource
from seatunnel_connectors.postgres_cdc.claim import LogClaims, LogNames
from seatunnel_connectors.postgres_cdc.slot_snapshots import LOG_POSITION, SlotKeepers
from seatunnel_py.api import Enumerator, Plain, Reader, SourceTable, Split, TablePath

SLOT = "slot"
"""Key of a split's payload: the name of the slot with the changes after it."""
MADE = "made"
"""Key of a split's payload: what this job has created at the server, of slot and publication."""


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
        found = [self._placed(split) for split in super().discover()]
        files = self._files(found)
        return [
            replace(one, payload={**one.payload, FILE: files[one.table].number}) if one.table in files else one
            for one in found
        ]

    def renew(self, splits: Sequence[Split]) -> Sequence[Split]:
        self._claim()
        placed = [self._placed(split) for split in splits]
        lost = [one for one, split in zip(placed, splits, strict=True) if one.generation != split.generation]
        again = {one.id: one for one in renewed(lost, self._files(lost), self._keeper.oldest_hidden)}
        return [again.get(one.id, one) for one in placed]

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

    @property
    def _keeper(self) -> Keeper:
        snapshot = self._snapshot()
        assert isinstance(snapshot, PostgresSnapshot), "copies are made under snapshots of slots"
        return snapshot.keeper

    def _files(self, splits: Sequence[Split]) -> dict[TablePath, TableFile]:
        """The files of the tables that are divided by blocks, as they are now."""
        tables = [*dict.fromkeys(one.table for one in splits if by_blocks(one))]
        if not tables:
            return {}
        names = ", ".join(literal(quote(one.schema, one.table)) for one in tables)
        rows = self._keeper.ask(
            "SELECT pg_relation_filenode(c), pg_relation_size(c) / current_setting('block_size')::int "
            f"FROM unnest(ARRAY[{names}]) WITH ORDINALITY AS t (name, at), to_regclass(name) AS c ORDER BY at"
        )
        return {
            table: TableFile(number, blocks)
            for table, (number, blocks) in zip(tables, rows, strict=True)
            if number is not None
        }

    def _placed(self, split: Split) -> Split:
        keeper = self._keeper
        known = split.payload.get(LOG_POSITION)
        # A part that was read under an earlier snapshot lacks all changes since that one.
        begins = min(keeper.log_position, known) if isinstance(known, int) else keeper.log_position
        payload = {**split.payload, "snapshot": keeper.generation, LOG_POSITION: begins}
        payload[HIDDEN] = split.payload.get(HIDDEN, keeper.oldest_hidden)
        if self._copy.names is not None:
            payload[SLOT] = self._copy.names.slot
            if made := self._copy.registry.get(LogClaims).made.get(self._copy.names.slot):
                payload[MADE] = [*made]
        return replace(split, payload=payload, generation=keeper.generation)
