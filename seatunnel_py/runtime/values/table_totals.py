"""What a pipeline has read and written: in total, by all drivers that the job has had, and in this run of it.

Rules. (1) Sums are part of a subtask's state, so that what a record holds is what earlier drivers have done. (2) What
this run did is the total without that. (3) A pipeline whose record is its last one was done before: this run kept it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.runtime.observe.receipt import TableReceipt, TableState
from seatunnel_py.runtime.values.row_tallies import tally_of
from seatunnel_py.runtime.values.subtask_state import state_of

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.runner import PipelineLife


def read_in(record: CheckpointRecord | None) -> dict[str, int]:
    """Rows that were read up to this record, by vertex."""
    found: dict[str, int] = {}
    for subtask, snapshot in record.snapshots.items() if record is not None else ():
        found[subtask.vertex] = found.get(subtask.vertex, 0) + tally_of(state_of(snapshot.state).tally).read
    return found


class Totals:
    """Of one life of a pipeline."""

    def __init__(self, life: PipelineLife) -> None:
        self._life = life
        self._began: CheckpointRecord | None = None

    def begin(self, record: CheckpointRecord | None) -> None:
        """The pipeline begins, or goes on from here."""
        self._began = record

    def receipts(self, at: float, *, ended: bool = True) -> tuple[TableReceipt, ...]:
        """What became of each of its source tables, or what it has come to where it has not ``ended``."""
        life = self._life
        state = life.rest or (life.state if life.state.ended or not ended else TableState.STOPPED)
        tallies = life.left_out.tallies(done=state is TableState.DONE)
        began = at if life.started_at is None else life.started_at  # one may end before the engine is there
        kept = self._began is not None and self._began.kind is RecordKind.FINAL and not life.left_out.nodes
        return life.counts.receipts(
            tallies,
            life.failures,
            state,
            0.0 if kept else max(0.0, (life.ended_at or at) - began),
            life.failure,
            life.left_out.receipts(),
            life.left_out.nodes_apart,
            life.prepared.setups,
            read_in(self._began),
            kept=kept,
        )
