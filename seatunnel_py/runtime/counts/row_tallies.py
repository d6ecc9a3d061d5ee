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
    """Row counts of a subtask; ``written``: rows and bytes by sink node. ``tables``: rows read and skipped, by table,
    if the subtask reads several."""

    read: int = 0
    filtered: int = 0
    rejected: int = 0
    written: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    tables: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def plus(self, other: RowTally) -> RowTally:
        """Add two tallies."""
        if self is NO_ROWS:
            return other
        return RowTally(
            self.read + other.read,
            self.filtered + other.filtered,
            self.rejected + other.rejected,
            _added(self.written, other.written),
            _added(self.tables, other.tables),
        )

    def to_plain(self) -> list[Any]:
        plain: list[Any] = [self.read, self.filtered, self.rejected, _lists(self.written)]
        return [*plain, _lists(self.tables)] if self.tables else plain


NO_ROWS = RowTally()


def _added(some: Mapping[str, tuple[int, int]], more: Mapping[str, tuple[int, int]]) -> Mapping[str, tuple[int, int]]:
    if not more:
        return some
    found = dict(some)
    for name, (first, second) in more.items():
        before = found.get(name, (0, 0))
        found[name] = (before[0] + first, before[1] + second)
    return found


def _lists(sums: Mapping[str, tuple[int, int]]) -> dict[str, list[int]]:
    return {name: list(pair) for name, pair in sums.items()}


def _pairs(plain: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    return {name: (first, second) for name, (first, second) in plain.items()}


def tally_of(plain: Any) -> RowTally:
    """The inverse of ``RowTally.to_plain``; None gives zero counts."""
    if plain is None:
        return RowTally()
    read, filtered, rejected, written, *tables = plain
    return RowTally(read, filtered, rejected, _pairs(written), _pairs(tables[0]) if tables else {})


class TallyCounter:
    """Counts the rows of results of one vertex."""

    def __init__(self, vertex: PlannedVertex) -> None:
        source = vertex.source
        paths = () if source is None else tuple(table.schema.path for table in source.tables)
        self._reads = {(source.step.id, path): str(path) for path in paths} if source is not None else {}
        self._filters = {key for node in vertex.nodes if (key := _filter(node)) is not None}
        self._sinks = {(node.step.id, node.table.path): node.id for node in vertex.sinks}

    def of(self, result: UnitResult) -> RowTally:
        """Count the rows of one successful unit."""
        filtered = rejected = skipped = 0
        tables: dict[str, tuple[int, int]] = {}
        for step in result.counts:
            rejected += step.rejected
            less = max(0, step.rows_in - step.rows_out - step.rejected)
            if (name := self._reads.get((step.step, step.table))) is not None:
                skipped += less
                if len(self._reads) > 1:
                    tables[name] = (step.rows_in, less)
            elif (step.step, step.table) in self._filters:
                filtered += less
        written = RowTally()
        for piece in result.pieces:
            if piece.step == QUARANTINE:
                continue
            node = self._sinks[(piece.step, piece.table)]
            written = written.plus(RowTally(written={node: (piece.piece.rows, piece.piece.bytes)}))
        read = result.rows + skipped if self._reads else 0
        return RowTally(read, filtered + skipped, rejected, written.written, tables)


def _filter(node: TableNode) -> tuple[str, TablePath] | None:
    """The name of a filtering step in results; None for other steps."""
    if isinstance(node, TransformNode) and node.capabilities.cardinality is not Cardinality.ANY:
        return node.step.id, node.table.path
    if isinstance(node, SqlNode) and node.analysis.narrow and len(node.inputs) == 1:
        return node.step.id, node.inputs[0][1].path
    return None
