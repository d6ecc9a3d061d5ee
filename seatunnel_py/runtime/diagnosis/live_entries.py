"""The entries of tables in ``counters.json``: counts and states of receipts, as plain data.

Rules. (1) The rest of a receipt follows at the end of the run: causes, and how the targets were set up. (2) A pipeline
that has not begun has zeros, without a look at its parts: most tables of a large job wait, for most of the time.
"""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.plain_data import plain_data
from seatunnel_py.runtime.counts.table_counts import TableCounts
from seatunnel_py.runtime.diagnosis.table_receipts import receipts_of
from seatunnel_py.runtime.observe.receipt import TableReceipt, TableState, TargetReceipt

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine

Entry = dict[str, Any]


def entries_of(machine: PipelineMachine, at: float) -> list[Entry]:
    """The entries of the source tables of a pipeline."""
    state = machine.state
    if not state.told and state.shown.started_at is None and machine.begins_with is None:
        return _waiting(machine.counts)
    return [entry_of(one) for one in receipts_of(machine, at, ended=False)]


def entry_of(receipt: TableReceipt) -> Entry:
    """Convert a receipt."""
    entry = dict(zip(_COUNTS, _counts_of(receipt), strict=True))
    entry["targets"] = [_target(one, receipt.state) for one in receipt.targets]
    return entry


def _target(one: TargetReceipt, state: TableState) -> Entry:
    entry = _target_entry(one.target, one.rows_written, one.bytes_written, one.state or state)
    if one.stands is not None:
        entry["stands"] = plain_data(one.stands)
    return entry


def _target_entry(target: str, rows: int | None, size: int | None, state: TableState) -> Entry:
    return {"target": target, "rows_written": rows, "bytes_written": size, "state": state}


def _waiting(counts: TableCounts) -> list[Entry]:
    entries = []
    for table, targets in counts.targets:
        into = [_waiting_target(counts.shown[node], shared) for node, shared in targets.items()]
        entries.append(_ZEROS | {"table": table, "targets": into})
    return entries


def _waiting_target(target: str, shared: bool) -> Entry:
    number = None if shared else 0
    return _target_entry(target, number, number, TableState.PENDING)


_COUNTS = (*(one.name for one in fields(TableReceipt) if one.name not in ("targets", "cause")), "rows_read_this_run")
_counts_of = attrgetter(*_COUNTS)
_ZEROS = entry_of(TableReceipt("", (), TableState.PENDING))
