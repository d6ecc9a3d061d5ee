"""Rows that a pipeline has read and written, by all drivers of the job and by this run.

Rules. (1) Counts are part of a subtask's state, so a record holds the counts of earlier drivers. (2) The counts of
this run are the difference. (3) A pipeline with a final record was done before, and is kept by this run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seatunnel_py.protocol.model.records import RecordKind
from seatunnel_py.runtime.counts.table_totals import read_in
from seatunnel_py.runtime.observe.receipt import TableReceipt, TableState

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine


def receipts_of(machine: PipelineMachine, at: float, *, ended: bool = True) -> tuple[TableReceipt, ...]:
    """Receipts of the pipeline's source tables; with their current counts if it has not ``ended``."""
    shown = machine.state.shown
    state = machine.closing.arrived_as or (shown.state if shown.state.ended or not ended else TableState.STOPPED)
    sinks = machine.isolated.outcome(done=state is TableState.DONE)
    began = at if shown.started_at is None else shown.started_at  # one may end before the engine is there
    record = machine.begins_with
    kept = record is not None and record.kind is RecordKind.FINAL and not sinks.left
    return machine.counts.receipts(
        sinks.tallies,
        machine.state.failures,
        state,
        0.0 if kept else max(0.0, (shown.ended_at or at) - began),
        machine.failure,
        sinks.left,
        sinks.delegated,
        machine.state.prepared.setups,
        read_in(record),
        kept=kept,
    )
