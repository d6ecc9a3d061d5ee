"""A chain with narrow queries in it, as the workers see it: stages, and Spark's SQL between them.

One Spark job: the first stage reads and transforms, Spark computes, the last stage transforms and writes, in between
more of both. All stages run side by side in one task, so rows stream through and keep their order. What does not go
through Spark (row kinds, metadata, positions of batches, rows of other tables) goes round it, by files of that task:

- ``STAGE.NUMBER.segment``: the batch of that number without its columns; a hidden column of each row names it;
- ``STAGE.end``: the result of the stage, written when it is over; the stage behind it stages nothing before that;
- ``stop``: the last stage has failed, the others need not go on.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import shutil
import tempfile
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_py.api.batch import Batch, Element, Position
from seatunnel_py.api.sink import Piece, Sink, WriteContext, Writer
from seatunnel_py.api.source import Enumerator, Reader, Source, SourceTable, Split
from seatunnel_py.errors import FatalError
from seatunnel_py.spark.arrow_wire import from_wire, to_wire, wire_schema
from seatunnel_py.spark.sql_types import ROW
from seatunnel_py.work.chain import Chain, ChainChannel, ChainSink, ChainSource, ChainSql
from seatunnel_py.work.run import run_unit
from seatunnel_py.work.segments import SegmentWriter, read_slice, read_slices
from seatunnel_py.work.unit import Budget, StepCount, Unit, UnitResult, result_from_plain

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROW_BITS = 32  # the hidden column: number of the batch, then number of the row in it
_ROW_MASK = (1 << _ROW_BITS) - 1
_WAITING_BATCHES_MAX = 2  # read ahead of Spark, so that reading and computing overlap
_WAIT_SECONDS = 0.5  # how often a stage that waits for room looks whether anybody still wants its rows
_NO_LIMIT = Budget(rows=1 << 62, seconds=1e12)  # only the first stage may stop: the others take what comes
_BYPASS = "round"
RESULT = "result"


class _Echo(FatalError):
    """A stage ends because another one has failed; that one says why."""


@dataclass(frozen=True, slots=True)
class Stage:
    """The part of a chain before, between or behind queries. ``before`` and ``behind`` are those queries."""

    number: int
    unit: Unit
    chain: Chain
    before: ChainSql | None = None
    behind: ChainSql | None = None

    @property
    def place(self) -> Path:
        """The task's own directory; both processes of the task have the same one in mind."""
        scratch = os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).partition(",")[0]
        return Path(scratch) / f"query-{self.chain.lineage[:8]}-{self.chain.incarnation}" / _file(str(self.unit.id))


@dataclass(frozen=True, slots=True)
class BridgedUnit(Unit):
    """The unit behind a query: the same rows under the same name, though they come from no split of its own."""

    named: str = ""

    @property
    def data_id(self) -> str:
        return self.named


def stages_of(chain: Chain, unit: Unit) -> list[Stage]:
    """A chain with n queries as n + 1 stages."""
    queries = [step for step in chain.transforms if isinstance(step, ChainSql)]
    cuts = [at for at, step in enumerate(chain.transforms) if isinstance(step, ChainSql)]
    stages = []
    for number, (start, end) in enumerate(zip([-1, *cuts], [*cuts, len(chain.transforms)], strict=True)):
        before = queries[number - 1] if number else None
        behind = queries[number] if number < len(queries) else None
        part = replace(chain, transforms=chain.transforms[start + 1 : end])
        if behind is not None:
            part = replace(part, sinks=(), output=None)
        stages.append(Stage(number, unit, part, before, behind))
    return stages


def sending(payload: bytes, names: Sequence[str], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For ``mapInArrow``: run a stage that has a query behind it; yields its rows for that. ``names`` are those of the
    columns that come in."""
    stage: Stage = pickle.loads(payload)
    if stage.number == 0:
        for _ in batches:
            pass
        shutil.rmtree(stage.place, ignore_errors=True)
        stage.place.mkdir(parents=True, mode=0o700)
    assert stage.behind is not None
    bridge = _Bridge(stage)
    thread = threading.Thread(target=bridge.run, args=(_named(batches, names),), name="query-stage", daemon=True)
    thread.start()
    try:
        yield from bridge.rows()
    finally:
        bridge.abandoned.set()
        thread.join()


def ending(payload: bytes, names: Sequence[str], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For ``mapInArrow``: run the last stage; yields one row, the result of the whole unit as JSON."""
    stage: Stage = pickle.loads(payload)
    feed = _Feed(stage, _named(batches, names))
    result = feed.run(sinks=stage.chain.sinks, output=stage.chain.output)
    if result.failure is not None:
        (stage.place / "stop").touch()
        for _ in batches:
            pass  # Spark throws a worker away that still has rows to send
    whole = _joined(stage, result, feed)
    shutil.rmtree(stage.place, ignore_errors=True)
    yield pa.RecordBatch.from_pydict({RESULT: [json.dumps(whole.to_plain())]})


def _named(batches: Iterator[pa.RecordBatch], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    return (batch.rename_columns(list(names)) for batch in batches)


def _joined(stage: Stage, last: UnitResult, feed: _Feed) -> UnitResult:
    """The stages' results as one: what was read by the first, written by the last, failed by the earliest."""
    results = [*feed.results(), last]
    first = results[0]
    failures = [result.failure for result in results if result.failure is not None]
    failures.sort(key=lambda failure: failure.error_type.endswith(_Echo.__qualname__))
    failure = failures[0] if failures else None
    counts: dict[tuple[str, Any], StepCount] = {}
    for result in results:
        for count in result.counts:
            key = (count.step, count.table)
            known = counts.get(key)
            # A query was handed its rows by one stage and gave them to the next.
            counts[key] = replace(known, rows_out=count.rows_out) if known else count
    # Rows that went round a query are counted where they went in and where they came out.
    shown = tuple(count for count in counts.values() if not count.step.startswith(f"{_BYPASS}."))
    return replace(
        last,
        id=stage.unit.id,
        done=first.done and failure is None,
        next=first.next if failure is None else None,
        rows=first.rows,
        bytes=first.bytes,
        seconds=max(result.seconds for result in results),
        counts=() if failure else shown,
        failure=failure,
    )


# ------------------------------------------------------------------ in front of a query


class _Bridge:
    """Runs a stage in a thread of its own and hands its rows to Spark, for Spark pulls and a stage pushes."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.abandoned = threading.Event()
        self._queue: queue.Queue[pa.RecordBatch | None] = queue.Queue(_WAITING_BATCHES_MAX)
        self._sent = 0

    def run(self, batches: Iterator[pa.RecordBatch]) -> None:
        """The whole stage, to its result."""
        stage, behind = self.stage, self.stage.behind
        assert behind is not None
        bypass = ChainChannel(f"{_BYPASS}.{stage.number}", str(stage.place))
        sinks = (ChainSink(behind.step, behind.table.path, _BridgeSink(self)),)
        try:
            if stage.before is None:
                result = run_unit(stage.unit, replace(stage.chain, sinks=sinks, output=bypass))
            else:
                result = _Feed(stage, batches).run(sinks=sinks, output=bypass)
            _end(stage.place, stage.number, result)
        finally:
            self._put(None)

    def rows(self) -> Iterator[pa.RecordBatch]:
        while (item := self._queue.get()) is not None:
            yield item

    def send(self, batch: Batch) -> None:
        """Give a batch to Spark, and what Spark does not carry to the next stage."""
        if batch.absent is not None and any(pc.any(marks).as_py() for marks in batch.absent.columns):
            raise FatalError(
                f"rows of {batch.table} have cells that the source did not send, and a query would read them as null",
                "let the source send whole rows",
            )
        stage = self.stage
        header = replace(batch, data=batch.data.select([]), absent=None)
        writer = SegmentWriter(str(stage.place), f"{stage.number}.{self._sent}")
        writer.add(header)
        writer.finish("")
        data = to_wire(batch.data, wire_schema(batch.data.schema))
        first = self._sent << _ROW_BITS
        rows = pa.array(np.arange(first, first + batch.rows, dtype=np.int64))
        self._sent += 1
        self._put(data.append_column(pa.field(ROW, pa.int64()), rows))

    def _put(self, item: pa.RecordBatch | None) -> None:
        while not self.abandoned.is_set():
            try:
                self._queue.put(item, timeout=_WAIT_SECONDS)
                return
            except queue.Full:
                continue
        if item is not None:
            raise _Echo("Spark takes no more rows")


@dataclass(frozen=True)
class _BridgeSink(Sink):
    """The end of a stage in front of a query. Lives in one process, so it may hold the bridge itself."""

    bridge: _Bridge

    def open(self, context: WriteContext) -> Writer:
        return _BridgeWriter(self.bridge)


class _BridgeWriter(Writer):
    def __init__(self, bridge: _Bridge) -> None:
        self._bridge = bridge
        self._rows = 0

    def write(self, batch: Batch) -> None:
        if (self._bridge.stage.place / "stop").exists():
            raise _Echo("the steps behind the query have failed")
        self._bridge.send(batch)
        self._rows += batch.rows

    def stage(self) -> Piece:
        return Piece(self._rows)

    def abort(self) -> None:
        return None


# ------------------------------------------------------------------ behind a query


class _Feed(Source):
    """The head of a stage behind a query: Spark's rows, put together with what went round it."""

    def __init__(self, stage: Stage, batches: Iterator[pa.RecordBatch]) -> None:
        assert stage.before is not None
        self.stage = stage
        self.query = stage.before
        self._batches = batches

    def run(self, *, sinks: Sequence[ChainSink], output: ChainChannel | None) -> UnitResult:
        """The stage from this head to its sinks."""
        head = ChainSource(self.query.step, self, SourceTable(self.query.output))
        chain = replace(self.stage.chain, head=head, sinks=tuple(sinks), output=output)
        unit = self.stage.unit
        split = unit.split or Split(unit.data_id, self.query.table.path)
        bridged = BridgedUnit(unit.id, split, None, (), _NO_LIMIT, named=unit.data_id)
        return run_unit(bridged, chain)

    def results(self) -> list[UnitResult]:
        """The results of the stages in front of this one, as far as they are known."""
        return [
            result_from_plain(json.loads(path.read_text()))
            for number in range(self.stage.number)
            if (path := self.stage.place / f"{number}.end").exists()
        ]

    def elements(self) -> Iterator[Element]:
        """Batches in their order; then the rows that went round the query."""
        number = self.stage.number - 1
        pieces = self._pieces()
        held = next(pieces, None)
        while held is not None:
            following = next(pieces, None)
            last = following is None or following[0] != held[0]
            yield self._batch(*held, last=last)
            held = following
        if len(self.results()) != number + 1:
            raise FatalError("the steps before the query ended without a result")
        result = self.results()[number]
        if result.failure is not None:
            raise _Echo("the steps before the query have failed")
        yield from read_slices(result.slices)

    def _pieces(self) -> Iterator[tuple[int, pa.Array, pa.RecordBatch]]:
        """Spark's rows cut where another batch of the stage before begins: (its number, rows of it, data)."""
        for data in self._batches:
            if not data.num_rows:
                continue
            row = data.column(ROW)
            batch = pc.shift_right(row, _ROW_BITS)
            ends = pc.indices_nonzero(pc.not_equal(batch.slice(1), batch.slice(0, len(batch) - 1))).to_pylist()
            start = 0
            for end in [*(at + 1 for at in ends), data.num_rows]:
                rows = pc.bit_wise_and(row.slice(start, end - start), _ROW_MASK)
                yield batch[start].as_py(), rows, data.slice(start, end - start)
                start = end

    def _batch(self, number: int, rows: pa.Array, data: pa.RecordBatch, *, last: bool) -> Batch:
        header = read_slice(str(self.stage.place / f"{self.stage.number - 1}.{number}.segment"), 0)
        end: Position | None = header.end if last else None
        return Batch(
            table=self.query.output.path,
            data=from_wire(data, self.query.output),
            end=end,
            start=header.start,
            kinds=header.kinds.take(rows) if header.kinds is not None else None,
            schema_version=header.schema_version,
            metadata={name: values.take(rows) for name, values in header.metadata.items()},
        )

    def tables(self) -> Sequence[SourceTable]:
        return (SourceTable(self.query.output),)

    def enumerator(self, tables: Sequence[SourceTable], state: Any) -> Enumerator:
        raise AssertionError("rows behind a query are not enumerated")

    def reader(self, table: SourceTable) -> Reader:
        return _FeedReader(self)


class _FeedReader(Reader):
    def __init__(self, feed: _Feed) -> None:
        self._feed = feed

    def read(self, split: Split, start: Position | None) -> Iterator[Element]:
        return self._feed.elements()


def _end(place: Path, number: int, result: UnitResult) -> None:
    """Write a stage's result down, whole or not at all."""
    written = place / f"{number}.end.part"
    written.write_text(json.dumps(result.to_plain()))
    written.rename(place / f"{number}.end")


def _file(name: str) -> str:
    """Unit ids hold what table names hold, which no directory may."""
    plain = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in name)
    return f"{plain[:80]}-{zlib.crc32(name.encode()):08x}"
