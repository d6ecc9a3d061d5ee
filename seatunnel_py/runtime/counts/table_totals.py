"""Counts of read rows in a record."""

from __future__ import annotations

from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.counts.row_tallies import tally_of
from seatunnel_py.runtime.values.subtask_state import state_of


def read_in(record: CheckpointRecord | None) -> dict[str, int]:
    """Rows read up to this record, by vertex."""
    found: dict[str, int] = {}
    for subtask, snapshot in record.snapshots.items() if record is not None else ():
        found[subtask.vertex] = found.get(subtask.vertex, 0) + tally_of(state_of(snapshot.state).tally).read
    return found
