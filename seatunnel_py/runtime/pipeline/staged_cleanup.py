"""Drops staged rows of a pipeline that no commit will show: while it runs, and when it is closed.

Rules. (1) Rows that a record names are dropped only where the pipeline is given up without a checkpoint to go on from;
before that the journal records it, because a later driver must not resume with dropped rows. (2) Rows that no record
will ever name are dropped at once; those that cannot be dropped then are dropped in the end. (3) The rows that a driver
that was overtaken has named may be those that the newer one goes on from, so they are kept (I33). (4) Once the newer
driver has finished the job, it has swept: rows that are there now came later, and are of no use. (5) Rows that could
not be dropped are reported, and change no outcome. (6) A sink that was isolated keeps the rows that count at the
checkpoint at which it stands, where a later driver goes on from there; else it keeps nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import RecordKind
from seatunnel_py.protocol.model.stream_elements import StagedPiece
from seatunnel_py.runtime.messages.effects import AbortPieces, CloseKind, CloseOut
from seatunnel_py.runtime.pipeline.isolated_sinks import IsolatedSinks
from seatunnel_py.runtime.state.shared_state import SharedState
from seatunnel_py.runtime.subtasks.subtask_execution import SubtaskExecution
from seatunnel_py.runtime.subtasks.unit_table import UnitTable
from seatunnel_py.runtime.targets import sink_operations
from seatunnel_py.work.unit import SinkPiece


class StagedCleanup:
    """Drops the staged rows of one pipeline."""

    def __init__(
        self,
        state: SharedState,
        executions: Mapping[Subtask, SubtaskExecution],
        units: UnitTable,
        isolated: IsolatedSinks,
    ) -> None:
        self._state = state
        self._executions = executions
        self._units = units
        self._isolated = isolated

    @property
    def strays(self) -> tuple[SinkPiece, ...]:
        """The pieces of attempts that failed, or ended too late."""
        of_executions = (one for run in self._executions.values() for one in run.strays)
        return (*self._units.strays, *of_executions)

    @property
    def staged(self) -> tuple[SinkPiece, ...]:
        """All pieces of current executions, named by a record or not."""
        return (*self.strays, *_pieces(piece for one in self._state.participants.values() for piece in one.pieces))

    @property
    def ever_staged(self) -> tuple[SinkPiece, ...]:
        """All pieces, including those of ended executions (rule 4)."""
        return (*self.staged, *_pieces(piece for one in self._state.participants.values() for piece in one.dead_pieces))

    @property
    def resumable(self) -> bool:
        """Whether the pipeline can be resumed from a checkpoint; checkpoint 0 is one if rows are visible at once."""
        view, newest = self._state.view, self._state.newest
        if view is None or newest is None or newest.kind is not RecordKind.ZERO:
            return newest is not None
        begun = [node for name in sorted(view.set_up) for node in self._state.context.groups[name]]
        return sink_operations.remembers_at_once(begun, self._state.prepared.setups)

    def drop(self, pieces: tuple[SinkPiece, ...]) -> None:
        """Drop rows of an execution that is over (rule 2)."""
        setups = self._state.prepared.setups
        if pieces:
            self._state.call("drop", lambda number: AbortPieces(number, pieces, setups), retried=False)

    def close_out(self, number: int, kind: CloseKind) -> CloseOut:
        """Make the effect that closes the pipeline."""
        setups = self._state.prepared.setups
        if kind is CloseKind.ABORT:
            return CloseOut(number, kind, self.staged, setups)
        if kind is CloseKind.WITHDRAW:
            return CloseOut(number, kind, self.strays, setups)
        gone = self._isolated.cleanup_positions
        kept = frozenset(node for node in gone if self._state.context.bounded and gone[node].checkpoint)
        return CloseOut(number, kind, self.strays, setups, frozenset(gone) - kept, kept)


def _pieces(staged: Iterable[StagedPiece]) -> tuple[SinkPiece, ...]:
    return tuple(map(sink_operations.piece_of, staged))
