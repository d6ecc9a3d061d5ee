"""Turns blocks of the log into batches: without what a copy has already, and cut where an earlier unit stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_connectors.postgres_cdc.pgoutput.elements import Block, LogPosition, TableRows, Transactions
from seatunnel_py.api import Batch, Position, RowKind, SchemaChange, TablePath, TableStopped

Mask = npt.NDArray[np.bool_]


def position_of(place: LogPosition, timeline: int) -> Position:
    """The place as a position for checkpoints, with the server's timeline."""
    return Position(
        {
            "commit": place.commit, "end": place.end, "open": place.open_commit, "index": place.index,
            "timeline": timeline,
        },
    )  # fmt: skip


def place_of(position: Position) -> LogPosition:
    """The place of a position."""
    return LogPosition(position.int("commit"), position.int("end"), position.int("open"), position.int("index"))


def timeline_of(position: Position) -> int:
    """The timeline of a position; 0: an older version has written it."""
    return position.int("timeline") if "timeline" in position.value else 0


def has_reached(place: LogPosition, until: LogPosition) -> bool:
    """Whether everything before ``until`` has been read at ``place``."""
    if not until.index:
        return place.commit >= until.commit
    if place.open_commit == until.open_commit:
        return place.index >= until.index
    return place.commit >= until.open_commit


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Chooses the rows of a block that count. ``starts``: by table, the position of the first commit that counts;
    ``given``: the place up to which its rows were given before. ``metadata``: names of the metadata
    that batches get."""

    starts: Mapping[TablePath, int]
    until: LogPosition | None = None
    given: Mapping[TablePath, LogPosition] = field(default_factory=dict)
    metadata: frozenset[str] = frozenset()

    def batches(self, block: Block) -> Iterator[Batch]:
        """A batch for each table with rows that count, none with an end."""
        commits = np.asarray(block.transactions.commit)
        for rows in block.rows:
            kept, absent = self._kept(rows, commits), _absent(rows)
            if not kept.any():
                continue
            metadata = _metadata(rows, block.transactions, self.metadata)
            if kept.all():
                yield Batch(rows.table.path, rows.data, kinds=rows.kinds, absent=absent, metadata=metadata)
                continue
            mask = pa.array(kept)
            yield Batch(
                rows.table.path, rows.data.filter(mask), kinds=rows.kinds.filter(mask),
                absent=None if absent is None else absent.filter(mask),
                metadata={name: values.filter(mask) for name, values in metadata.items()},
            )  # fmt: skip

    def _kept(self, rows: TableRows, commits: npt.NDArray[np.int64]) -> Mask:
        commit = commits[np.asarray(rows.transactions)]
        kept: Mask = commit >= self.starts[rows.table.path]
        if self.until is not None:
            kept &= _before(self.until, commit, rows)
        if (before := self.given.get(rows.table.path)) is not None:
            kept &= ~_before(before, commit, rows)
        return kept

    def counts(self, path: TablePath, commit: int, order: int) -> bool:
        """Whether a change without rows counts, by its transaction and its place there."""
        before = self.given.get(path, LogPosition())
        was_given = commit <= before.commit or (commit == before.open_commit and order < before.index)
        return commit >= self.starts[path] and not was_given


def _before(place: LogPosition, commit: npt.NDArray[np.int64], rows: TableRows) -> Mask:
    """The rows before a place."""
    inside: Mask = commit <= place.commit
    if place.index:
        inside |= (commit == place.open_commit) & (np.asarray(rows.order) < place.index)
    return inside


def _metadata(rows: TableRows, transactions: Transactions, names: frozenset[str]) -> dict[str, pa.Array]:
    """The metadata of these names, of each row. Times are those of commits, in milliseconds since 1970; positions of
    the log are those of commits, too."""
    return {name: _METADATA[name](rows, transactions) for name in sorted(names & _METADATA.keys())}


def _times(rows: TableRows, transactions: Transactions) -> pa.Array:
    return pc.divide(transactions.time, 1000).take(rows.transactions)


_METADATA: Mapping[str, Callable[[TableRows, Transactions], pa.Array]] = {
    "EventTime": _times,
    "SourceTimestamp": _times,
    "TransactionId": lambda rows, of: of.xid.cast(pa.string()).take(rows.transactions),
    "TransactionOrder": lambda rows, _: rows.order,
    "Lsn": lambda rows, of: of.commit.take(rows.transactions),
    "SnapshotRow": lambda rows, _: pa.repeat(False, len(rows.order)),
}


def _absent(rows: TableRows) -> pa.RecordBatch | None:
    """The cells that the log lacks; of a row that is deleted only its key is wanted."""
    if rows.absent is None:
        return None
    changed = np.asarray(rows.kinds) != RowKind.DELETE
    masks = [np.asarray(column) & changed for column in rows.absent.columns]
    if not any(mask.any() for mask in masks):
        return None
    return pa.RecordBatch.from_arrays([pa.array(mask) for mask in masks], names=rows.absent.schema.names)


def moves_partially(batch: Batch) -> bool:
    """Whether a row gets another key without having all cells: it cannot be inserted under that key. Only in this case
    is the row before an update given beside a row that lacks cells."""
    if batch.kinds is None or batch.absent is None:
        return False
    after = np.flatnonzero(np.asarray(batch.kinds) == RowKind.UPDATE_BEFORE) + 1
    return any(np.asarray(marks)[after].any() for marks in batch.absent.columns)


RowElement = Batch | TableStopped | SchemaChange


def ending(elements: Iterator[RowElement], end: Position) -> Iterator[RowElement]:
    """The elements; only the last one has an end, for a unit may stop only there. A change of a schema has its own."""
    held: RowElement | None = None
    for element in elements:
        if held is not None:
            yield held
        held = element
    if held is not None:
        yield held if isinstance(held, SchemaChange) else replace(held, end=end)
