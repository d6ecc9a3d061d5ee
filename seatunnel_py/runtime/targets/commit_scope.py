"""Start effects and commits of a commit scope, alone or together with those of other scopes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from seatunnel_py.api.sink import CommitContext, Setup, SinkCommit, SinkSetup
from seatunnel_py.plan.graph_nodes import SinkNode
from seatunnel_py.plan.plugins import plugin_calls
from seatunnel_py.protocol.model.stream_elements import StagedPiece
from seatunnel_py.runtime.storage import quarantine_store
from seatunnel_py.runtime.targets import sink_operations
from seatunnel_py.runtime.targets.sink_operations import piece_of
from seatunnel_py.runtime.values import failpoints
from seatunnel_py.runtime.values.chain_builder import JobIdentity
from seatunnel_py.work.unit import QUARANTINE


@dataclass(frozen=True, slots=True)
class ScopeSetUp:
    """The start effects of sinks that share a committer."""

    together_max: ClassVar[int] = 50  # the first sinks wait for the last, and so do their readers

    nodes: Sequence[SinkNode]
    setups: Mapping[str, Setup]

    def alone(self) -> None:
        sink_operations.set_up(self.nodes, self.setups)

    def key(self) -> Hashable:
        if len(self.nodes) != 1:
            return None
        part = self._part
        return part.sink.sets_up_with(part.setup)

    @property
    def _part(self) -> SinkSetup:
        node = self.nodes[0]
        return SinkSetup(node.sink, self.setups[node.id])

    def together(self, others: Sequence[ScopeSetUp]) -> None:
        parts = [self._part, *(one._part for one in others)]
        failpoints.BEFORE_SET_UP.hit()
        with plugin_calls.attributed(self.nodes[0].step, "set_up_together"):
            parts[0].sink.set_up_together(parts)
        failpoints.SET_UP.hit()


@dataclass(frozen=True, slots=True)
class ScopeCommit:
    """One checkpoint of one commit scope; each group of sinks shares a committer."""

    together_max: ClassVar[int] = 500  # larger messages would take too long themselves

    groups: Sequence[Sequence[SinkNode]]
    pieces: tuple[StagedPiece, ...]
    setups: Mapping[str, Setup]
    job: JobIdentity
    checkpoint: int
    final: bool

    def alone(self) -> None:
        """Commit the scope; each committer gets the pieces of all its tables."""
        for group in self.groups:
            part = self._part(group)
            failpoints.BEFORE_COMMIT.hit()
            with plugin_calls.attributed(group[0].step, "commit"):
                part.committer.commit(part.pieces, part.context)
            failpoints.COMMITTED.hit()
        bad = [piece_of(piece) for piece in self.pieces if _is_bad(piece)]
        quarantine_store.commit(bad, self.job, self.checkpoint)

    def key(self) -> Hashable:
        """Grouping key; None for several targets, or with bad rows."""
        if len(self.groups) != 1 or any(map(_is_bad, self.pieces)):
            return None
        node = self.groups[0][0]
        return node.sink.committer().commits_with(self._context(node))

    def together(self, others: Sequence[ScopeCommit]) -> None:
        parts = [one._part(one.groups[0]) for one in (self, *others)]
        failpoints.BEFORE_COMMIT.hit()
        with plugin_calls.attributed(self.groups[0][0].step, "commit_together"):
            parts[0].committer.commit_together(parts)
        failpoints.COMMITTED.hit()

    def _part(self, group: Sequence[SinkNode]) -> SinkCommit:
        node = group[0]
        tables = {(member.step.id, member.table.path) for member in group}
        own = [piece.piece for piece in map(piece_of, self.pieces) if (piece.step, piece.table) in tables]
        committer = plugin_calls.committer_of(node.step, node.sink)
        return SinkCommit(committer, plugin_calls.combined_by(node.step, committer, own), self._context(node))

    def _context(self, node: SinkNode) -> CommitContext:
        return self.job.commit_context(node, self.setups[node.id].data, self.checkpoint, final=self.final)


def _is_bad(piece: StagedPiece) -> bool:
    """Return True for a piece of bad rows; without decoding it, because this runs on the loop."""
    plain: Any = piece.data
    return bool(plain["step"] == QUARANTINE)
