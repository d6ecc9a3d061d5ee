"""Counts the rows that a subtask has read, filtered, rejected and written. The counts are part of its state, so that a
restart resets them and no row is counted twice. Pure.

Rules. (1) Only a filtering step filters rows; a step that produces other rows (an aggregate) does not.
(2) Only a source reads rows: a channel does not count. (3) Rows that a reader skips count as read and filtered.
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
    """Row counts of a subtask; ``written``: rows and bytes by sink node."""

    read: int = 0
    filtered: int = 0
    rejected: int = 0
    written: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def plus(self, other: RowTally) -> RowTally:
        """Add two tallies."""
        written = dict(self.written)
        for node, (rows, size) in other.written.items():
            before = written.get(node, (0, 0))
            written[node] = (before[0] + rows, before[1] + size)
        return RowTally(self.read + other.read, self.filtered + other.filtered, self.rejected + other.rejected, written)

    def to_plain(self) -> list[Any]:
        return [self.read, self.filtered, self.rejected, {node: list(sums) for node, sums in self.written.items()}]


def tally_of(plain: Any) -> RowTally:
    """The inverse of ``RowTally.to_plain``; None gives zero counts."""
    if plain is None:
        return RowTally()
    read, filtered, rejected, written = plain
    return RowTally(read, filtered, rejected, {node: (rows, size) for node, (rows, size) in written.items()})


class TallyCounter:
    """Counts the rows of results of one vertex."""

    def __init__(self, vertex: PlannedVertex) -> None:
        self._source = None if vertex.source is None else (vertex.source.step.id, vertex.source.table.schema.path)
        self._filters = {key for node in vertex.nodes if (key := _filter(node)) is not None}
        self._sinks = {(node.step.id, node.table.path): node.id for node in vertex.sinks}

    def of(self, result: UnitResult) -> RowTally:
        """Count the rows of one successful unit."""
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
    """The name of a filtering step in results; None for other steps."""
    if isinstance(node, TransformNode) and node.capabilities.cardinality is not Cardinality.ANY:
        return node.step.id, node.table.path
    if isinstance(node, SqlNode) and node.analysis.narrow and len(node.inputs) == 1:
        return node.step.id, node.inputs[0][1].path
    return None
