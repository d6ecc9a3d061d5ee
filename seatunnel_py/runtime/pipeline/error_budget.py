"""Whether a pipeline has more bad rows than its job allows: judged whenever a unit ends, over all of its subtasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seatunnel_py.nouns import counted
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.runtime.values.row_tallies import Tally
from seatunnel_py.work.unit import FailureKind, UnitFailure

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.runner import PipelineLife


def too_many(life: PipelineLife, subtask: Subtask, tally: Tally, *, ended: bool) -> UnitFailure | None:
    """Why the unit that has just ended must not count. ``tally`` are the sums of ``subtask`` with it, ``ended`` says
    that it was the last one of a source: a share of everything is judged when everything was read."""
    limits = life.settings.errors
    if limits is None:
        return None
    total, read_all = tally, True
    for other, run in life.subtasks.items():
        if other != subtask and other not in life.left_out:
            total = total.plus(run.tally(life.newest))
        if run.vertex.source is not None:
            read_all = read_all and (ended if other == subtask else run.participant.units.ended)
    if total.rejected <= limits.most(total.read, ended=read_all):
        return None
    return UnitFailure(
        FailureKind.FATAL,
        f"{total.rejected:,} of {counted(total.read, 'row')} are bad, more than {limits} allows",
        "correct the data, or raise env.error.max-rows or env.error.max-ratio; `seatunnel quarantine show` tells what "
        "was wrong with rows until the last checkpoint",
    )
