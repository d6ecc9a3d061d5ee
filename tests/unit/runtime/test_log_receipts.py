"""Receipts of tables that are copied and followed: one for each table."""

from __future__ import annotations

from seatunnel_py.runtime.counts.log_receipts import joined, refused
from seatunnel_py.runtime.observe.receipt import TableReceipt, TableState, TargetReceipt
from seatunnel_py.work.unit import FailureKind, UnitFailure

CAUSE = UnitFailure(FailureKind.FATAL, "it is behind")


def receipt(table: str, state: TableState, rows: int) -> TableReceipt:
    return TableReceipt(table, (TargetReceipt("lake", rows, 1),), state, rows, rows)


def test_counts_of_copy_and_log_are_added() -> None:
    copies = [receipt("a", TableState.DONE, 5), receipt("b", TableState.FAILED, 2), receipt("c", TableState.DONE, 3)]
    log = [receipt("a", TableState.STOPPED, 7)]
    found = {one.table: one for one in joined(copies, log, {"c": CAUSE})}

    assert (found["a"].state, found["a"].rows_written, found["a"].targets[0].rows_written) == (
        TableState.STOPPED,
        12,
        12,
    )
    assert found["b"] == copies[1]
    assert (found["c"].state, found["c"].cause, found["c"].rows_written) == (TableState.ISOLATED, CAUSE, 3)


def test_a_table_without_a_copy_that_cannot_join_its_log_has_a_receipt() -> None:
    known = [receipt("a", TableState.STOPPED, 7)]

    assert list(refused(known, {"a": CAUSE})) == []
    (found,) = refused(known, {"b": CAUSE})
    assert (found.table, found.state, found.cause) == ("b", TableState.ISOLATED, CAUSE)
