"""What became of the rows of each source table of a pipeline, and how many went into each target. Pure sums.

Rules. (1) Rows are read where a source is; a channel is not a second reading. (2) A row that two sinks take is written
twice, once into each target. (3) What happens behind a channel belongs to the source that feeds it; where a query
joins several tables nobody can say whose a row is, and the first of them keeps the books. (4) A row is filtered by a
step that lets rows through or not; a step that makes other rows of them (an aggregate) filters nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from seatunnel_py.api.capabilities import Cardinality
from seatunnel_py.api.schema import TablePath
from seatunnel_py.plan.flows import SqlNode, TableNode, TransformNode
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.runtime.receipt import TargetReceipt
from seatunnel_py.work.unit import UnitResult


@dataclass(slots=True)
class TargetCount:
    """``shared``: the rows are counted with another source table of the same query."""

    target: str
    shared: bool = False
    rows: int = 0
    bytes: int = 0


@dataclass(slots=True)
class TableCount:
    """Running sums for one source table. ``targets`` are those that its rows lead to, by sink node."""

    table: TablePath
    rows_read: int = 0
    rows_filtered: int = 0
    rows_rejected: int = 0
    attempts: int = 0
    targets: dict[str, TargetCount] = field(default_factory=dict)

    @property
    def rows_written(self) -> int:
        return sum(target.rows for target in self.targets.values())

    @property
    def bytes_written(self) -> int:
        return sum(target.bytes for target in self.targets.values())

    def receipts(self) -> tuple[TargetReceipt, ...]:
        """The targets in the order of the plan."""
        return tuple(
            TargetReceipt(each.target, None if each.shared else each.rows, None if each.shared else each.bytes)
            for each in self.targets.values()
        )


class Counts:
    """The counts of one pipeline, by source vertex."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.tables: dict[str, TableCount] = {}
        self._books: dict[str, TableCount] = {}  # by vertex: who keeps the books for it
        self._filters: set[tuple[str, TablePath]] = set()
        self._scopes = {(node.step.id, node.table.path): node.id for node in pipeline.sinks}
        feeding: dict[str, dict[str, None]] = {}  # source vertices that a vertex gets rows from, in order
        for vertex in pipeline.vertices:  # senders come first
            if vertex.source is not None:
                self.tables[vertex.id] = TableCount(vertex.source.table.schema.path)
                feeding[vertex.id] = {vertex.id: None}
            else:
                feeding[vertex.id] = {source: None for channel in vertex.inputs for source in feeding[channel.sender]}
            self._filters.update(key for node in vertex.nodes if (key := _filter(node)) is not None)
            first = next(iter(feeding[vertex.id]))
            self._books[vertex.id] = self.tables[first]
            for source in feeding[vertex.id]:
                for node in vertex.sinks:
                    count = TargetCount(node.sink.target, shared=source != first)
                    known = self.tables[source].targets.setdefault(node.id, count)
                    known.shared = known.shared and count.shared

    def attempt(self, vertex: str) -> None:
        """A unit failed or was lost."""
        self._books[vertex].attempts += 1

    def add(self, result: UnitResult) -> None:
        """A unit ended well."""
        book = self._books[result.id.vertex]
        if result.id.vertex in self.tables:
            book.rows_read += result.rows
        for piece in result.pieces:
            target = book.targets[self._scopes[(piece.step, piece.table)]]
            target.rows += piece.piece.rows
            target.bytes += piece.piece.bytes
        for step in result.counts:
            book.rows_rejected += step.rejected
            if (step.step, step.table) in self._filters:
                book.rows_filtered += max(0, step.rows_in - step.rows_out - step.rejected)


def _filter(node: TableNode) -> tuple[str, TablePath] | None:
    """How results name a step that lets rows through or not."""
    if isinstance(node, TransformNode) and node.capabilities.cardinality is not Cardinality.ANY:
        return node.step.id, node.table.path
    if isinstance(node, SqlNode) and node.analysis.narrow and len(node.inputs) == 1:
        return node.step.id, node.inputs[0][1].path
    return None
