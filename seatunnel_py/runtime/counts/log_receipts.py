"""One receipt for a table that was copied and is followed. Pure.

Rule. The counts of copy and log are added; the state is the log's, once the copy is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from seatunnel_py.runtime.observe.receipt import TableReceipt, TableState, TargetReceipt
from seatunnel_py.work.unit import UnitFailure


def joined(
    copies: Sequence[TableReceipt], followed: Iterable[TableReceipt], apart: Mapping[str, UnitFailure]
) -> Iterator[TableReceipt]:
    """The receipts of the tables of a log: the copies' and the log's, in the order of the copies. ``apart``: tables
    that are copied but not followed, with the cause."""
    log = {one.table: one for one in followed}
    for copy in copies:
        if copy.table in apart:
            yield replace(copy, state=TableState.ISOLATED, cause=apart[copy.table])
        else:
            yield _joined(copy, log[copy.table]) if copy.table in log and copy.state is TableState.DONE else copy


def refused(receipts: Iterable[TableReceipt], apart: Mapping[str, UnitFailure]) -> Iterator[TableReceipt]:
    """The receipts of tables without a copy that could not join their log."""
    for table in sorted(apart.keys() - {one.table for one in receipts}):
        yield TableReceipt(table, (), TableState.ISOLATED, cause=apart[table])


def _joined(copy: TableReceipt, log: TableReceipt) -> TableReceipt:
    return replace(
        log,
        targets=tuple(_target(one, log.targets) for one in copy.targets),
        rows_read=copy.rows_read + log.rows_read,
        rows_written=copy.rows_written + log.rows_written,
        rows_filtered=copy.rows_filtered + log.rows_filtered,
        rows_rejected=copy.rows_rejected + log.rows_rejected,
        bytes_written=copy.bytes_written + log.bytes_written,
        attempts=copy.attempts + log.attempts,
        seconds=copy.seconds + log.seconds,
        rows_read_before=copy.rows_read_before + log.rows_read_before,
    )


def _target(copied: TargetReceipt, targets: Sequence[TargetReceipt]) -> TargetReceipt:
    found = next((one for one in targets if one.target == copied.target), None)
    if found is None:
        return copied
    return replace(
        copied,
        rows_written=_sum(copied.rows_written, found.rows_written),
        bytes_written=_sum(copied.bytes_written, found.bytes_written),
        state=found.state,
        cause=found.cause,
        stands=found.stands,
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
