"""The command `seatunnel` with one thing changed: while a checkpoint is under way its sources stand still.

    python -m bench.stop_the_world run JOB --json

It shows what a checkpoint would cost that is not asynchronous: from the trigger until the last commit is confirmed no
unit of the pipeline begins. It is no setting; here it is the other end of a comparison.
"""

from __future__ import annotations

from seatunnel_py.cli.main import app
from seatunnel_py.runtime.subtasks.subtask_execution import SubtaskExecution

LOOK_SECONDS = 0.002  # until one that stands still looks again

_begin_if_room = SubtaskExecution.begin_if_room


def _begin_if_nothing_is_under_way(self: SubtaskExecution) -> None:
    view = self._state.view
    stands = view is not None and (view.pending or view.commits.waiting)
    if self.held and stands:
        self._state.after(("idle", self.subtask), LOOK_SECONDS)
        return
    _begin_if_room(self)


if __name__ == "__main__":
    SubtaskExecution.begin_if_room = _begin_if_nothing_is_under_way  # type: ignore[method-assign]  # that is the change
    app()
