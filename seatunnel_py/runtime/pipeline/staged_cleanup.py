"""What a pipeline has staged that nobody will show, and how it is dropped: while it runs, and when it is closed.

Rules. (1) What a record names is dropped only where the pipeline is given up without a checkpoint to go on from; before
that the journal says so, for a later driver must not go on with what may be gone. (2) What no record will ever name is
dropped at once; what cannot be dropped then is dropped in the end. (3) What a driver that was overtaken has named may
be what the newer one goes on from, and is left to it (I33). (4) Once the newer driver has finished the job, it has
swept: whatever is there now came later, and is of use to nobody. (5) What stays behind is told, and changes no outcome.
(6) A sink that was left out keeps what counts at the checkpoint at which it stands, where a later driver goes on from
there; else it keeps nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from seatunnel_py.api.source import Enumerator
from seatunnel_py.protocol.model.records import RecordKind
from seatunnel_py.runtime.storage.journal import dropped_line
from seatunnel_py.runtime.targets import sink_operations
from seatunnel_py.work.unit import SinkPiece, UnitFailure

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.runner import PipelineRunner


class StagedCleanup:
    """Of one pipeline."""

    def __init__(self, life: PipelineRunner) -> None:
        self._life = life

    @property
    def strays(self) -> tuple[SinkPiece, ...]:
        """What attempts have staged that failed, or came too late."""
        of_runs = (one for run in self._life.subtasks.values() for one in run.strays)
        return (*self._life.units.strays, *of_runs)

    @property
    def staged(self) -> tuple[SinkPiece, ...]:
        """All of it, named by a record or not."""
        tasks = [run.participant for run in self._life.subtasks.values()]
        return (*self.strays, *(sink_operations.piece_of(piece) for task in tasks for piece in task.pieces))

    @property
    def resumable(self) -> bool:
        """It has a checkpoint to go on from; checkpoint 0 is one where rows are visible at once."""
        life = self._life
        if life.view is None or life.newest is None or life.newest.kind is not RecordKind.ZERO:
            return life.newest is not None
        begun = [node for name in sorted(life.view.set_up) for node in life.groups[name]]
        return sink_operations.remembers_at_once(begun, life.prepared.setups)

    def drop(self, pieces: Sequence[SinkPiece]) -> None:
        """Rows of a life that is over (rule 2)."""
        life = self._life

        def kept(failure: UnitFailure) -> None:
            life.units.strays += pieces
            life.shown.tell(failure)

        if pieces:
            dropping = partial(sink_operations.drop, self._groups, pieces, life.prepared.setups, life.job)
            life.aside("drop", dropping, lambda _: None, kept, retried=False)

    # ---------------------------------------------------------------- closing

    def close(self) -> None:
        """Close what has ended without success (rule 1)."""
        if self.resumable:
            self.release()
        else:
            self.abort()

    def release(self) -> None:
        """Close it, and leave what it has staged, but for those who were left out (rule 6)."""
        sources, sweep = self._sources(), self._sweep_of_those_left_out()

        def leave() -> None:
            with ExitStack() as closing:
                closing.callback(sweep)
                sink_operations.release(sources)

        self._last(leave)

    def _sweep_of_those_left_out(self) -> Callable[[], None]:
        life = self._life
        gone, job, setups = life.left_out.cleanup_positions, life.job, life.prepared.setups
        kept = {node for node in gone if life.bounded and gone[node].checkpoint}
        groups = [group for group in self._groups if group[0].id in gone]
        given_up = [group for group in groups if group[0].id not in kept]
        strays = self.strays

        def sweep() -> None:
            if given_up:
                sink_operations.abort(given_up, strays, setups, job, ())
            sink_operations.drop([group for group in groups if group not in given_up], strays, setups, job, last=True)

        return sweep

    def abort(self) -> None:
        """Close it, and drop everything."""
        life = self._life
        drop = partial(
            sink_operations.abort, self._groups, self.staged, life.prepared.setups, life.job, self._sources()
        )
        life.world.log([dropped_line(life.key)], partial(self._last, drop), self.withdraw)

    def withdraw(self) -> None:
        """Another driver has taken over (rule 3)."""
        strays, sources = self.strays, self._sources()

        def leave() -> None:
            sink_operations.release(sources)
            self._drop_last(strays)

        self._last(leave)

    def delete_all(self) -> None:
        """The job has ended elsewhere, and nothing of the pipeline is at work here any more (rule 4)."""
        tasks = [run.participant for run in self._life.subtasks.values()]
        self._drop_last(
            (*self.staged, *(sink_operations.piece_of(piece) for task in tasks for piece in task.dead_pieces))
        )

    def _sources(self) -> tuple[Enumerator, ...]:
        """To be closed, once."""
        prepared = self._life.prepared
        self._life.prepared = replace(prepared, enumerators={})
        return tuple(prepared.enumerators.values())

    def _drop_last(self, pieces: Iterable[SinkPiece]) -> None:
        life = self._life
        sink_operations.drop(self._groups, tuple(pieces), life.prepared.setups, life.job, last=True)

    def _last(self, task: Callable[[], None]) -> None:
        over = partial(self._life.world.ended, self._life.key)

        def left_behind(failure: UnitFailure) -> None:
            self._life.shown.tell(failure)
            over()

        self._life.world.aside(task, lambda _: over(), left_behind)

    @property
    def _groups(self) -> sink_operations.Groups:
        return tuple(self._life.groups.values())
