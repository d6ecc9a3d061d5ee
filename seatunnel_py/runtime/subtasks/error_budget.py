"""Checks at the end of each unit whether all subtasks of a pipeline have more bad rows than the job allows."""

from __future__ import annotations

from seatunnel_py.nouns import counted
from seatunnel_py.runtime.counts.row_tallies import RowTally
from seatunnel_py.work.bad_rows.limits import ErrorLimits
from seatunnel_py.work.unit import FailureKind, UnitFailure


def exceeded(limits: ErrorLimits, total: RowTally, *, read_all: bool) -> UnitFailure | None:
    """The failure of a unit that exceeds the limits; None: it does not. ``total``: counts of all subtasks with this
    unit; a ratio applies when all rows were read."""
    if total.rejected <= limits.most(total.read, ended=read_all):
        return None
    return UnitFailure(
        FailureKind.FATAL,
        f"{total.rejected:,} of {counted(total.read, 'row')} are bad, more than {limits} allows",
        "correct the data, or raise env.error.max-rows or env.error.max-ratio; `seatunnel quarantine show` lists the "
        "faults of rows until the last checkpoint",
    )
