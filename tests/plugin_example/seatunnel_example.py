"""A plugin distribution of a third party: a source that counts down, one that follows files, a transform that doubles, a
sink of text lines.

The author's guide (docs/authors.md) walks through this file; the tests install and run it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_py.api import (
    PLAIN_READ,
    Batch,
    Column,
    Determinism,
    Effect,
    Enumerator,
    Guarantee,
    Heartbeat,
    Piece,
    Plain,
    Position,
    ReadContext,
    Reader,
    Rejected,
    Setup,
    Sink,
    SinkCapabilities,
    SinkFactory,
    SinkOptions,
    Source,
    SourceCapabilities,
    SourceFactory,
    SourceOptions,
    SourceTable,
    Split,
    StepContext,
    TablePath,
    TableSchema,
    Transform,
    TransformFactory,
    TransformOptions,
    WriteContext,
    Writer,
    option,
    parse_type,
)


class CountdownOptions(SourceOptions):
    start: int = option(ge=1, doc="the first number; 1 is the last")
    batch: int = option(100, ge=1, doc="rows per batch")


@dataclass(frozen=True)
class Countdown(Source):
    """Picklable, and opens nothing: it goes to every worker."""

    start: int
    batch: int

    def tables(self) -> Sequence[SourceTable]:
        schema = TableSchema(TablePath.parse("countdown"), (Column("n", parse_type("bigint"), nullable=False),))
        return [SourceTable(schema, rows=self.start)]

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        return CountdownEnumerator(tables[0], self.start)

    def reader(self, table: SourceTable) -> Reader:
        return CountdownReader(self)


class CountdownEnumerator(Enumerator):
    """One split; a source that can be read in parts returns several."""

    def __init__(self, table: SourceTable, start: int) -> None:
        self._splits = [Split("all", table.schema.path, rows=start)]

    def discover(self) -> Iterable[Split]:
        found, self._splits = self._splits, []
        return found


class CountdownReader(Reader):
    def __init__(self, source: Countdown) -> None:
        self._source = source

    def read(self, split: Split, start: Position | None, context: ReadContext = PLAIN_READ) -> Iterator[Batch]:
        """Each batch has the position after it, so a unit may stop after any of them."""
        left = start.int("left") if start else self._source.start
        while left:
            rows = min(left, self._source.batch)
            numbers = pa.array(range(left, left - rows, -1), pa.int64())
            left -= rows
            yield Batch(split.table, pa.record_batch([numbers], ["n"]), end=Position({"left": left}))


class CountdownFactory(SourceFactory[CountdownOptions]):
    name = "Countdown"
    summary = "counts down to 1"
    options = CountdownOptions

    def capabilities(self, options: CountdownOptions, context: StepContext) -> SourceCapabilities:
        return SourceCapabilities(parallel=False, determinism=Determinism.DETERMINATE)

    def create(self, options: CountdownOptions, context: StepContext) -> Source:
        return Countdown(options.start, options.batch)


class FollowOptions(SourceOptions):
    directory: str = option(doc="its *.log files are followed, as `tail -f` does")


@dataclass(frozen=True)
class Follow(Source):
    directory: str

    def tables(self) -> Sequence[SourceTable]:
        return [SourceTable(TableSchema(TablePath.parse("lines"), (Column("line", parse_type("string")),)))]

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        return FollowEnumerator(self, tables[0], state)

    def reader(self, table: SourceTable) -> Reader:
        return FollowReader()


class FollowEnumerator(Enumerator):
    """Finds new files as new splits."""

    interval = 1.0

    def __init__(self, follow: Follow, table: SourceTable, state: Plain) -> None:
        self._directory, self._path = Path(follow.directory), table.schema.path
        self._known = {str(name) for name in state} if isinstance(state, list) else set()

    def discover(self) -> Iterable[Split]:
        found = sorted({path.name for path in self._directory.glob("*.log")} - self._known)
        self._known.update(found)
        return [Split(name, self._path, {"file": str(self._directory / name)}) for name in found]

    def snapshot(self) -> Plain:
        return [*sorted(self._known)]


class FollowReader(Reader):
    def read(
        self, split: Split, start: Position | None, context: ReadContext = PLAIN_READ
    ) -> Iterator[Batch | Heartbeat]:
        """Never ends: the end of the iterator would end the split."""
        at = start.int("at") if start else 0
        with Path(str(split.payload["file"])).open("rb") as file:
            while True:
                file.seek(at)
                lines = [line for line in islice(file, 1000) if line.endswith(b"\n")]
                at += sum(map(len, lines))
                end = Position({"at": at})
                if lines:
                    texts = pa.array([line.decode().rstrip("\n") for line in lines])
                    yield Batch(split.table, pa.record_batch([texts], ["line"]), end=end)
                else:
                    time.sleep(0.05)
                    yield Heartbeat(end)


class FollowFactory(SourceFactory[FollowOptions]):
    name = "Follow"
    summary = "follows the lines of files"
    options = FollowOptions

    def capabilities(self, options: FollowOptions, context: StepContext) -> SourceCapabilities:
        return SourceCapabilities(bounded=False, determinism=Determinism.DETERMINATE)

    def create(self, options: FollowOptions, context: StepContext) -> Source:
        return Follow(options.directory)


class DoubleOptions(TransformOptions):
    field: str = option(doc="the number that is doubled")


@dataclass(frozen=True)
class Double(Transform):
    field: str
    table: TableSchema

    def output(self) -> TableSchema:
        if self.table.column(self.field) is None:
            raise ValueError(f"there is no field {self.field!r}; fields: {', '.join(self.table.names)}")
        return self.table

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        at = batch.data.schema.get_field_index(self.field)
        doubled = pc.multiply(batch.data.column(at), 2)
        return [replace(batch, data=batch.data.set_column(at, batch.data.schema.field(at), doubled))]


class DoubleFactory(TransformFactory[DoubleOptions]):
    name = "Double"
    summary = "doubles a number"
    options = DoubleOptions

    def create(self, options: DoubleOptions, table: TableSchema, context: StepContext) -> Transform:
        return Double(options.field, table)


class LinesOptions(SinkOptions):
    directory: str = option(doc="where the files go; made when it is not there")


@dataclass(frozen=True)
class Lines(Sink):
    """One file per unit, named after the rows: a second attempt at them replaces the file of the first."""

    directory: str

    @property
    def target(self) -> str:
        return self.directory

    def plan_setup(self) -> Setup:
        if Path(self.directory).is_dir():
            return Setup()
        return Setup((Effect("create directory", self.directory),))

    def setup(self, setup: Setup) -> None:
        Path(self.directory).mkdir(parents=True, exist_ok=True)

    def open(self, context: WriteContext) -> Writer:
        name = hashlib.sha256(f"{context.step} {context.data_id}".encode()).hexdigest()[:16]
        return LinesWriter(Path(self.directory) / f"{name}.txt")


class LinesWriter(Writer):
    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: list[str] = []

    def write(self, batch: Batch) -> None:
        self._lines += [",".join(map(str, row.values())) for row in batch.data.to_pylist()]

    def stage(self) -> Piece:
        """The file appears whole or not at all."""
        temporary = self._path.with_suffix(".tmp")
        temporary.write_text("".join(f"{line}\n" for line in self._lines))
        temporary.rename(self._path)
        return Piece(rows=len(self._lines), bytes=self._path.stat().st_size)

    def abort(self) -> None:
        self._path.with_suffix(".tmp").unlink(missing_ok=True)


class LinesFactory(SinkFactory[LinesOptions]):
    name = "Lines"
    summary = "writes rows as lines of text"
    options = LinesOptions

    def capabilities(self, options: LinesOptions, table: TableSchema, context: StepContext) -> SinkCapabilities:
        return SinkCapabilities(Guarantee.IDEMPOTENT, "a file is named after the rows in it")

    def create(self, options: LinesOptions, table: TableSchema, context: StepContext) -> Sink:
        return Lines(options.directory)
