"""Why a source waits before it begins another unit, although there is more to read.

Rules. (1) It waits while ``checkpoint.max-uncommitted`` checkpoints of its pipeline are completed and not confirmed: no
other is begun, so what it read would only pile up behind a target that is away. (2) It waits while its job's segments
take all the room that they may, if it makes any (``segment_retention.py``). (3) Nothing that it waits for needs it:
commits come by themselves, a barrier passes a source that waits, and what it only reads again after a restart it does
read, for no barrier passes in between. (4) A confirmed commit sets it going at once.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.runner import PipelineLife
    from seatunnel_py.runtime.pipeline.subtask_runner import SubtaskRun


class Pause(StrEnum):
    """The value is what people read."""

    COMMITS = "as many checkpoints are completed and not committed as checkpoint.max-uncommitted allows"
    EXCHANGE = "what lies on channels takes all of exchange.max-bytes"


def why(run: SubtaskRun) -> Pause | None:
    """What keeps this subtask from beginning its next unit; None: nothing, or it is no source."""
    life, command = run.line, run.command
    if run.vertex.source is None:
        return None
    again = command is not None and command.range is not None
    if life.coordinator is not None and not again:
        shared = life.coordinator.shared
        if shared.commits.lag >= shared.settings.max_uncommitted:
            return Pause.COMMITS
    return Pause.EXCHANGE if run.outputs and life.segments.full else None


def must_wait(run: SubtaskRun) -> bool:
    """Whether it has to; what can be done to end that is done."""
    pause = why(run)
    if pause is Pause.EXCHANGE:
        run.line.segments.make_room()
    return pause is not None


def go_on(life: PipelineLife) -> None:
    """What a source has waited for may be over."""
    for run in life.subtasks.values():
        run.begin_if_room()
