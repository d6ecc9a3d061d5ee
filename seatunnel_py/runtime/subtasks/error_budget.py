"""Whether a pipeline has more bad rows than its job allows: judged whenever a unit ends, over all of its subtasks."""

from __future__ import annotations

from seatunnel_py.nouns import counted
from seatunnel_py.runtime.counts.row_tallies import RowTally
from seatunnel_py.work.bad_rows.limits import ErrorLimits
from seatunnel_py.work.unit import FailureKind, UnitFailure


def exceeded(limits: ErrorLimits, total: RowTally, *, read_all: bool) -> UnitFailure | None:
    """Why the unit that has just ended must not count. ``total`` are the sums of all subtasks with it; a share of
    everything is judged when everything was read."""
    if total.rejected <= limits.most(total.read, ended=read_all):
        return None
    return UnitFailure(
        FailureKind.FATAL,
        f"{total.rejected:,} of {counted(total.read, 'row')} are bad, more than {limits} allows",
        "correct the data, or raise env.error.max-rows or env.error.max-ratio; `seatunnel quarantine show` tells what "
        "was wrong with rows until the last checkpoint",
    )
