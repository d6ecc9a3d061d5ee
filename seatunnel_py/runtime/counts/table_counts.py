"""Counts of each source table of a pipeline, and of each target. Pure.

Rules. (1) A row that two sinks write counts twice, once for each target. (2) Counts after a channel belong to the
source table that feeds it; if a query joins several tables, rows cannot be attributed, and count for the first table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.sink import Setup
from seatunnel_py.plan.pipelines import Pipeline, PlannedChannel
from seatunnel_py.runtime.counts.row_tallies import NO_ROWS, RowTally
from seatunnel_py.runtime.counts.table_totals import table_key
from seatunnel_py.runtime.observe.receipt import ResumePoint, TableReceipt, TableState, TargetReceipt
from seatunnel_py.work.unit import UnitFailure

NOTHING = (0, 0)
NOT_SET_UP = Setup()


class TableCounts:
    """Attributes the counts of vertices to source tables, in one pipeline."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._tables: dict[str, str] = {}  # by source vertex, or `table_key` of one that reads several
        self._logs: dict[str, dict[TablePath, str]] = {}  # by vertex that reads several tables: their keys
        for vertex in pipeline.vertices:
            if vertex.source is not None and len(vertex.source.tables) > 1:
                paths = [table.schema.path for table in vertex.source.tables]
                self._logs[vertex.id] = {path: table_key(vertex.id, str(path)) for path in paths}
                self._tables |= {key: str(path) for path, key in self._logs[vertex.id].items()}
            elif vertex.source is not None:
                self._tables[vertex.id] = str(vertex.source.table.schema.path)
        self._books: dict[str, str] = {}  # by vertex: the table that gets its counts
        self._targets: dict[str, dict[str, bool]] = {name: {} for name in self._tables}
        self._shown = {node.id: node.shown for node in pipeline.sinks}
        feeding: dict[str, dict[str, None]] = {}  # source vertices upstream of a vertex, in order
        for vertex in pipeline.vertices:  # senders come first
            if vertex.id in self._logs:
                feeding[vertex.id] = dict.fromkeys(self._logs[vertex.id].values())
            elif vertex.id in self._tables:
                feeding[vertex.id] = {vertex.id: None}
            else:
                feeding[vertex.id] = {one: None for channel in vertex.inputs for one in self._fed(channel, feeding)}
            first = next(iter(feeding[vertex.id]))
            self._books[vertex.id] = first
            for source in feeding[vertex.id]:
                for node in vertex.sinks:  # shared: the rows are counted with another table of the same query
                    shared = self._targets[source].get(node.id, True)
                    self._targets[source][node.id] = shared and source != first

    def _fed(self, channel: PlannedChannel, feeding: Mapping[str, Mapping[str, None]]) -> Iterable[str]:
        """The tables whose rows come through a channel."""
        if channel.sender in self._logs:
            return (self._logs[channel.sender][channel.table],)
        return feeding[channel.sender]

    @property
    def targets(self) -> Iterable[tuple[str, Mapping[str, bool]]]:
        """The tables, each with its sink nodes; True: their rows are counted with another table."""
        return zip(self._tables.values(), self._targets.values(), strict=True)

    @property
    def shown(self) -> Mapping[str, str]:
        """The targets as texts, by sink node."""
        return self._shown

    def receipts(
        self,
        tallies: Mapping[str, RowTally],
        attempts: Mapping[str, int],
        state: TableState,
        seconds: float,
        cause: UnitFailure | None,
        left: Mapping[str, tuple[UnitFailure, ResumePoint]] = MappingProxyType({}),
        apart: Collection[str] = (),
        setups: Mapping[str, Setup] = MappingProxyType({}),
        before: Mapping[str, int] = MappingProxyType({}),
        *,
        kept: bool = False,
    ) -> tuple[TableReceipt, ...]:
        """The receipts of the source tables, from counts and failed attempts by vertex. ``left``: isolated sink nodes
        with cause and resume point; their tables are isolated there. ``apart``: sink nodes that a recovery pipeline
        reports. ``setups``: set-ups of sink nodes. ``before``: rows read by earlier drivers, by vertex; ``kept``:
        earlier drivers had finished the pipeline."""
        sums = self._sums(tallies)
        failed = self._failed(attempts)
        alone = state is TableState.DONE or (state is TableState.STOPPED and bool(self._logs))
        found = []
        for vertex, table in self._tables.items():
            tally = sums[vertex]
            written = [pair for node, pair in tally.written.items() if node not in apart]
            lacking = [left[node][0] for node in self._targets[vertex] if node in left] if left else ()
            found.append(
                TableReceipt(
                    table,
                    self._target_receipts(vertex, tally, state, left, apart, setups),
                    TableState.ISOLATED if lacking and alone else state,
                    tally.read,
                    sum([rows for rows, _ in written]),
                    tally.filtered,
                    tally.rejected,
                    sum([size for _, size in written]),
                    failed.get(vertex, 0),
                    seconds,
                    cause or (lacking[0] if lacking else None),
                    before.get(vertex, 0),
                    kept,
                )
            )
        return tuple(found)

    def _failed(self, attempts: Mapping[str, int]) -> dict[str, int]:
        """The failed attempts of each table that has some."""
        failed: dict[str, int] = {}
        for vertex, number in attempts.items():
            if (book := self._books.get(vertex)) is not None:
                failed[book] = failed.get(book, 0) + number
        return failed

    def _sums(self, tallies: Mapping[str, RowTally]) -> dict[str, RowTally]:
        """The counts of each table."""
        if len(self._books) == 1 and not self._logs:  # most pipelines of a large job
            return {book: tallies.get(vertex, NO_ROWS) for vertex, book in self._books.items()}
        sums = dict.fromkeys(self._tables, NO_ROWS)
        for vertex, book in self._books.items():
            tally = tallies.get(vertex, NO_ROWS)
            if vertex not in self._logs:
                sums[book] = sums[book].plus(tally)
                continue
            for key in self._logs[vertex].values():
                rows, skipped = tally.tables.get(self._tables[key], (0, 0))
                sums[key] = sums[key].plus(RowTally(rows, skipped))
        return sums

    def _target_receipts(
        self,
        vertex: str,
        tally: RowTally,
        state: TableState,
        left: Mapping[str, tuple[UnitFailure, ResumePoint]],
        apart: Collection[str],
        setups: Mapping[str, Setup],
    ) -> tuple[TargetReceipt, ...]:
        """The targets in the order of the plan; each with its state if some are isolated."""
        targets = self._targets[vertex]
        differ = bool(left) and any(node in left for node in targets)
        found = []
        for node, shared in targets.items():
            if node in apart:
                continue
            rows, size = (None, None) if shared else tally.written.get(node, NOTHING)
            isolated = left.get(node)
            cause, stand = isolated or (None, None)
            own_state = TableState.ISOLATED if isolated else state if differ else None
            setup = setups.get(node) or NOT_SET_UP
            found.append(
                TargetReceipt(
                    self._shown[node], rows, size, own_state, cause, stand,
                    setup.present, setup.conversions, setup.left_behind,
                )
            )  # fmt: skip
        return tuple(found)
