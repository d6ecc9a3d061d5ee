"""What a driver that was overtaken does with what it has staged.

Rules. (1) What a snapshot has named may be what the newer driver goes on from, and is left to it (I33). (2) What no
snapshot ever named nobody else knows of. (3) Once the newer driver has finished the job, it has swept: whatever is
there now came later, and is of use to nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from seatunnel_py.runtime import effects
from seatunnel_py.work.unit import SinkPiece

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline_life import PipelineLife


def leave(life: PipelineLife, strays: Sequence[SinkPiece]) -> None:
    """The pipeline goes on elsewhere."""
    effects.release(life.prepared.enumerators.values())
    _drop(life, strays)


def drop_all(life: PipelineLife) -> None:
    """The job has ended elsewhere, and nothing of the pipeline is at work here any more."""
    tasks = [run.participant for run in life.subtasks.values()]
    named = [effects.piece_of(piece) for task in tasks for piece in (*task.dead_pieces, *task.pieces)]
    _drop(life, (*life.strays(), *named))


def _drop(life: PipelineLife, pieces: Sequence[SinkPiece]) -> None:
    effects.drop(tuple(life.groups.values()), pieces, life.prepared.setups, life.job, last=True)
