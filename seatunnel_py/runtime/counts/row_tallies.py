"""How many rows a subtask has read, dropped, refused and written: part of its state, so that a restart takes back what
it undoes and no row is counted twice. Pure.

Rules. (1) A row is filtered by a step that lets rows through or not; a step that makes other rows of them (an
aggregate) filters nothing. (2) Only a source reads: a channel is not a second reading. (3) What a reader skips was
read, and filtered by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from seatunnel_py.api.capabilities import Cardinality
from seatunnel_py.api.schema import TablePath
from seatunnel_py.plan.graph_nodes import SqlNode, TableNode, TransformNode
from seatunnel_py.plan.pipelines import PlannedVertex
from seatunnel_py.work.unit import QUARANTINE, UnitResult


@dataclass(frozen=True, slots=True)
class RowTally:
    """``written``: rows and bytes by sink node."""

    read: int = 0
    filtered: int = 0
    rejected: int = 0
    written: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def plus(self, other: RowTally) -> RowTally:
        """The sum of both."""
        written = dict(self.written)
        for node, (rows, size) in other.written.items():
            before = written.get(node, (0, 0))
            written[node] = (before[0] + rows, before[1] + size)
        return RowTally(self.read + other.read, self.filtered + other.filtered, self.rejected + other.rejected, written)

    def to_plain(self) -> list[Any]:
        return [self.read, self.filtered, self.rejected, {node: list(sums) for node, sums in self.written.items()}]


def tally_of(plain: Any) -> RowTally:
    """The inverse of ``Tally.to_plain``; None is nothing yet."""
    if plain is None:
        return RowTally()
    read, filtered, rejected, written = plain
    return RowTally(read, filtered, rejected, {node: (rows, size) for node, (rows, size) in written.items()})


class TallyCounter:
    """What a result of one vertex adds."""

    def __init__(self, vertex: PlannedVertex) -> None:
        self._source = None if vertex.source is None else (vertex.source.step.id, vertex.source.table.schema.path)
        self._filters = {key for node in vertex.nodes if (key := _filter(node)) is not None}
        self._sinks = {(node.step.id, node.table.path): node.id for node in vertex.sinks}

    def of(self, result: UnitResult) -> RowTally:
        """The rows of one unit that ended well."""
        filtered = rejected = skipped = 0
        for step in result.counts:
            rejected += step.rejected
            less = max(0, step.rows_in - step.rows_out - step.rejected)
            if (step.step, step.table) == self._source:
                skipped = less
            elif (step.step, step.table) in self._filters:
                filtered += less
        written = RowTally()
        for piece in result.pieces:
            if piece.step == QUARANTINE:
                continue
            node = self._sinks[(piece.step, piece.table)]
            written = written.plus(RowTally(written={node: (piece.piece.rows, piece.piece.bytes)}))
        read = 0 if self._source is None else result.rows + skipped
        return RowTally(read, filtered + skipped, rejected, written.written)


def _filter(node: TableNode) -> tuple[str, TablePath] | None:
    """How results name a step that lets rows through or not."""
    if isinstance(node, TransformNode) and node.capabilities.cardinality is not Cardinality.ANY:
        return node.step.id, node.table.path
    if isinstance(node, SqlNode) and node.analysis.narrow and len(node.inputs) == 1:
        return node.step.id, node.inputs[0][1].path
    return None
