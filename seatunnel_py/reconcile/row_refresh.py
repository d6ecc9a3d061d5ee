"""Reads rows of a followed table again, and brings the target to them (``runtime/resume/table_refresh.py``).

Rules. (1) The keys of a refresh are those of the rows that fulfil the condition at the source, and of those that do so
in the target; or the keys that the wish lists. (2) Each of them gets the row that the source has now, whether or not it
fulfils the condition; the target's row is removed if the source has none. (3) Keys are collected first, by their
hashes. Then the rows are read again and written as they come, so memory does not grow with them. A key that changes
between the two is changed by the log as well, which is read from an earlier place. (4) Removals come before rows: these
may have values of another unique key that a removed row had.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from seatunnel_py.api.batch import RowKind
from seatunnel_py.api.log_source import FollowedTable, LogSource
from seatunnel_py.api.schema import TableSchema
from seatunnel_py.api.sink import WriteContext, Writer
from seatunnel_py.api.source import SourceTable, Split
from seatunnel_py.errors import COPY_AGAIN, FatalError, RetriableError
from seatunnel_py.nouns import counted
from seatunnel_py.plan.graph_nodes import FlowGraph, SinkNode, SourceNode, SourcePart
from seatunnel_py.plan.plugins import plugin_calls
from seatunnel_py.plan.tables.table_refresh import RefreshOutcome, RefreshWish
from seatunnel_py.reconcile.comparisons import TableComparison, opened, restricted, targets
from seatunnel_py.reconcile.key_rows import deletions, rows_of_kind
from seatunnel_py.reconcile.looks import AllRows, WantedKeys
from seatunnel_py.reconcile.lookups import VALUES_MAX, filtered, lookup_column
from seatunnel_py.reconcile.row_hashes import Hashes
from seatunnel_py.reconcile.side_reader import ReadingPath, WantedRows, source_paths, target_path
from seatunnel_py.runtime.resume.table_refresh import RefreshWork
from seatunnel_py.runtime.values import failpoints

if TYPE_CHECKING:
    import pyarrow as pa

PROGRESS_SECONDS = 1.0
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RefreshSides:
    """Readers of both sides: all rows of the source and of the target, and those that the wish chooses."""

    comparison: TableComparison
    source: ReadingPath
    chosen: ReadingPath
    target: ReadingPath


def try_out(graph: FlowGraph, wish: RefreshWish) -> None:
    """Read a first row of both sides. Raises SeaTunnelError if the wish cannot be fulfilled."""
    for comparison in _comparisons(graph, wish):
        sides = refresh_sides(comparison, source_paths(comparison)[0], wish)
        for path in (sides.chosen, sides.target):
            next(path.blocks(AllRows()), None)


def refreshed(graph: FlowGraph, work: RefreshWork, progress: Progress) -> RefreshOutcome:
    """Fulfil a wish; the targets of the table one after the other. Raises SeaTunnelError."""
    wish, node = work.wish, _copied_by(graph, work)
    _require_same_schema(node.table, work)
    written = removed = 0
    shown = []
    with closing(plugin_calls.enumerator_of(node.step, node.source, node.table, {})) as enumerator:
        splits = plugin_calls.splits_of(node.step, enumerator.discover)
        _require_later(node, splits, work)
        for comparison in _comparisons(graph, wish):
            path = replace(source_paths(comparison)[0], source=node.source, table=node.table)
            sides = refresh_sides(comparison, path, wish)
            sink = _sink_of(work, comparison)
            counts = TargetRefresh(sides, splits, wish, progress).into(sink.table, partial(_writer, work, sink))
            written, removed = written + counts[0], removed + counts[1]
            shown.append(sink.shown)
    text = f"{wish.shown}: {counted(written, 'row')} read again and written, {removed:,} removed"
    return RefreshOutcome(wish, True, text, written=written, removed=removed, targets=tuple(shown))


def _comparisons(graph: FlowGraph, wish: RefreshWish) -> Iterator[TableComparison]:
    """The targets of the table. Raises FatalError if rows of one cannot be found by key."""
    found = [one for one in targets(graph) if wish.table in one.sources]
    if not found:
        raise FatalError(f"{wish.table} has no target that can be read back", COPY_AGAIN)
    for rows in found:
        comparison = opened(graph, rows, "")
        if len(comparison.paths) > 1:
            raise FatalError(f"{rows.target} has rows of other tables too", "correct its rows with your own statements")
        if not comparison.has_key:
            raise FatalError(f"{rows.target} has no key, by which rows could be replaced", COPY_AGAIN)
        yield comparison


def refresh_sides(comparison: TableComparison, source: ReadingPath, wish: RefreshWish) -> RefreshSides:
    target = target_path(comparison)
    if wish.column:
        pair = lookup_column(comparison)
        if pair is None or pair.name != wish.column:
            raise FatalError(f"{wish.table}: rows cannot be chosen by {wish.column!r} any more", "compare them again")
        chosen = filtered(source, pair.source.name, wish.values)
        narrow = filtered(target, pair.target.name, wish.values)
        return RefreshSides(comparison, source, chosen or source, narrow or target)
    chosen = replace(source, table=restricted(source.source, source.table, wish.condition))
    narrow = replace(target, table=restricted(target.source, target.table, wish.condition))
    return RefreshSides(comparison, source, chosen, narrow)


def _copied_by(graph: FlowGraph, work: RefreshWork) -> SourceNode:
    """The node that copies the table: it reads rows as of a place of the log."""
    log = work.pipeline.log
    assert log is not None, f"{work.pipeline.name} follows no log"
    of_step = (node for node in graph.sources() if node.part is SourcePart.COPY and node.step.id == log.step.id)
    found = next((node for node in of_step if str(node.table.schema.path) == work.wish.table), None)
    if found is None:
        raise FatalError(f"{work.wish.table} is not a table of the job any more", "restore the old list of tables")
    return found


def _require_same_schema(now: SourceTable, work: RefreshWork) -> None:
    """Rows of today's schema are not written into a target that has not met the change in the log yet."""
    log = work.pipeline.log
    assert log is not None, f"{work.pipeline.name} follows no log"
    then = next(one for one in log.tables if one.schema.path == now.schema.path)
    shapes = [[(column.name, column.dtype) for column in one.schema.columns] for one in (then, now)]
    if shapes[0] != shapes[1]:
        raise FatalError(
            f"the schema of {now.schema.path} has changed, and the log has not been read up to that change",
            "ask again when the log has passed it",
        )


def _require_later(node: SourceNode, splits: Sequence[Split], work: RefreshWork) -> None:
    """The rows must not be older than the place from which the log goes on. A server may send a transaction to readers
    of its log before others see the rows."""
    log = work.pipeline.log
    assert log is not None and isinstance(log.source, LogSource), f"{work.pipeline.name} follows no log"
    try:
        plugin_calls.joined_by(log.step, log.source, work.begun, FollowedTable(node.table, tuple(splits)))
    except FatalError as error:
        raise RetriableError(error.message, "ask again") from error


def _sink_of(work: RefreshWork, comparison: TableComparison) -> SinkNode:
    """The sink of the log that writes to the target of the comparison."""
    schema = comparison.paths[0].schema.path
    same = (node for node in work.sinks if node.shown == comparison.target and node.table.path == schema)
    found = next(same, None)
    if found is None:
        raise FatalError(f"{comparison.target} is not a target of the log", COPY_AGAIN)
    return found


def _writer(work: RefreshWork, node: SinkNode) -> Writer:
    """The writer of the sink. Raises FatalError if it has none for a refresh."""
    job = work.job
    context = WriteContext(
        job.job_id, job.lineage, node.step.id, f"refresh {work.wish.request}", incarnation=job.incarnation,
        setup=work.setups[node.id].data, staging=job.staging,
    )  # fmt: skip
    with plugin_calls.attributed(node.step, "repair_writer"):
        writer = node.sink.repair_writer(context)
    if writer is None:
        raise FatalError(f"{node.shown} cannot be changed beside the units of the job", COPY_AGAIN)
    return writer


class TargetRefresh:
    """The refresh of one target."""

    def __init__(self, sides: RefreshSides, splits: Sequence[Split], wish: RefreshWish, progress: Progress) -> None:
        self._sides, self._splits, self._wish = sides, splits, wish
        self._tell = progress
        self._rows, self._told_at = 0, 0.0
        listed = np.array(sorted(wish.keys), np.uint64)
        self._wanted: WantedRows = WantedKeys(listed) if wish.keys else AllRows()

    def into(self, table: TableSchema, open_writer: Callable[[], Writer]) -> tuple[int, int]:
        """Write rows of this table; how many were written, and how many removed. Nothing is open while keys are
        collected."""
        seen = self._seen(self._sides.chosen, self._wanted)
        surplus, gone = self._surplus(seen)
        moved = self._moved(surplus, gone)
        gone = gone[~WantedKeys(moved).among(gone)]
        writer = open_writer()
        try:
            self._remove(writer, table, surplus, gone)
            written = self._write(writer, table, self._sides.chosen, self._wanted)
            written += self._write(writer, table, self._found_by(surplus), WantedKeys(moved)) if len(moved) else 0
        except BaseException:
            writer.abort()
            raise
        failpoints.BEFORE_ALTERATION.hit()
        writer.stage()
        failpoints.ALTERED.hit()
        return written, len(gone)

    # ---------------------------------------------------------------- keys

    def _seen(self, path: ReadingPath, wanted: WantedRows) -> Hashes:
        """The keys of the source's rows, in ascending order."""
        found = [np.zeros(0, np.uint64)]
        for rows in path.keyed(self._splits):
            found.append(rows.among(wanted).keys)
            self._progress(len(rows.keys))
        return np.unique(np.concatenate(found))

    def _surplus(self, seen: Hashes) -> tuple[list[pa.RecordBatch], Hashes]:
        """The target's rows whose keys were not seen: their keys' columns, and the hashes, in ascending order."""
        known, names = WantedKeys(seen), list(self._sides.comparison.key)
        kept: list[pa.RecordBatch] = []
        hashes = [np.zeros(0, np.uint64)]
        for block in self._sides.target.blocks(self._wanted):
            self._progress(block.read)
            if block.unreadable:
                text = f"{self._sides.comparison.target}: {counted(block.unreadable, 'row')} cannot be read"
                raise FatalError(text, "correct these rows in the target")
            mask = ~known.among(block.keys)
            if mask.any():
                import pyarrow as pa

                kept.append(block.data.select(names).filter(pa.array(mask)))
                hashes.append(block.keys[mask])
        return kept, np.unique(np.concatenate(hashes))

    def _moved(self, surplus: Sequence[pa.RecordBatch], keys: Hashes) -> Hashes:
        """Return those keys whose row at the source does not fulfil the condition."""
        if not self._wish.condition or not len(keys):
            return np.zeros(0, np.uint64)
        return self._seen(self._found_by(surplus), WantedKeys(keys))

    def _found_by(self, surplus: Sequence[pa.RecordBatch]) -> ReadingPath:
        """A reader of the source that finds these keys, and perhaps others."""
        pair = lookup_column(self._sides.comparison)
        values = set() if pair is None else {one for data in surplus for one in data.column(pair.name).to_pylist()}
        if pair is None or len(values) > VALUES_MAX:
            return self._sides.source
        found = filtered(self._sides.source, pair.source.name, tuple(sorted(map(str, values))))
        return found or self._sides.source

    # ---------------------------------------------------------------- rows

    def _remove(self, writer: Writer, table: TableSchema, surplus: Sequence[pa.RecordBatch], gone: Hashes) -> None:
        wanted = WantedKeys(gone)
        for data in surplus:
            rows = deletions(table, self._sides.comparison, data, wanted)
            if rows.rows:
                writer.write(rows)

    def _write(self, writer: Writer, table: TableSchema, path: ReadingPath, wanted: WantedRows) -> int:
        written = 0
        for rows in path.keyed(self._splits):
            chosen = rows.among(wanted)
            self._progress(len(rows.keys))
            if len(chosen.keys):
                writer.write(rows_of_kind(table.path, chosen.data, RowKind.UPDATE_AFTER))
                written += len(chosen.keys)
        return written

    def _progress(self, rows: int) -> None:
        self._rows += rows
        if time.monotonic() - self._told_at >= PROGRESS_SECONDS:
            self._told_at = time.monotonic()
            self._tell(f"{self._wish.shown}: {self._rows:,} rows of both sides read")
