"""Counts of read rows in a record."""

from __future__ import annotations

from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.counts.row_tallies import tally_of
from seatunnel_py.runtime.values.subtask_state import counts_of


def table_key(vertex: str, table: str) -> str:
    """The name of the counts of one table of a vertex that reads several."""
    return f"{vertex}/{table}"


def read_in(record: CheckpointRecord | None) -> dict[str, int]:
    """Rows read up to this record, by vertex; of a vertex that reads several tables also by ``table_key``."""
    found: dict[str, int] = {}
    for subtask, snapshot in record.snapshots.items() if record is not None else ():
        tally = tally_of(counts_of(snapshot.state))
        found[subtask.vertex] = found.get(subtask.vertex, 0) + tally.read
        for table, (rows, _) in tally.tables.items():
            key = table_key(subtask.vertex, table)
            found[key] = found.get(key, 0) + rows
    return found


def rows_in(record: CheckpointRecord | None) -> int:
    """The number of rows read up to this record."""
    snapshots = record.snapshots.values() if record is not None else ()
    return sum(tally_of(counts_of(snapshot.state)).read for snapshot in snapshots)
