"""The smallest source, transforms and sink that a unit can run; picklable, for workers of every kind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_py.api import (
    Batch,
    Cardinality,
    Column,
    Element,
    Enumerator,
    FatalError,
    Piece,
    Plain,
    Position,
    Reader,
    Rejected,
    RetriableError,
    Sink,
    Source,
    SourceTable,
    Split,
    TablePath,
    TableSchema,
    Transform,
    WriteContext,
    Writer,
    parse_type,
)
from seatunnel_py.work.chain import Chain, ChainSink, ChainSource, ChainTransform
from seatunnel_py.work.unit import Budget, Unit, UnitId

NUMBER = Column("n", parse_type("bigint"), nullable=False)


def table_of(name: str) -> SourceTable:
    return SourceTable(TableSchema(TablePath.parse(name), (NUMBER,)))


@dataclass(frozen=True)
class Numbers(Source):
    """Yields 0, 1, … of one table. What it does at ``at`` is ``act``; ``once`` names a file that says it was done."""

    table: str = "numbers"
    rows: int = 100
    batch: int = 10
    act: str = ""
    at: int = 0
    once: str = ""
    seconds: float = 0.0

    def tables(self) -> Sequence[SourceTable]:
        return [table_of(self.table)]

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        raise AssertionError("units are made by the tests")

    def reader(self, table: SourceTable) -> Reader:
        return _NumbersReader(self)

    def perform(self) -> None:
        if self.once:
            if Path(self.once).exists():
                return
            Path(self.once).touch()
        match self.act:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "retriable":
                raise RetriableError("the connection was lost", "wait")
            case "fatal":
                raise FatalError(f"no table {self.table}")
            case "bug":
                raise KeyError("n")
            case "sleep":
                time.sleep(self.seconds)


@dataclass(frozen=True)
class Workers(Numbers):
    """Numbers whose reader leaves the id of its process in the file ``once``."""

    def __init__(self, table: str, pids: str) -> None:
        super().__init__(table, rows=10, act="leave", once=pids)

    def perform(self) -> None:
        with Path(self.once).open("a") as file:
            file.write(f"{os.getpid()}\n")


class _NumbersReader(Reader):
    def __init__(self, source: Numbers) -> None:
        self._source = source

    def read(self, split: Split, start: Position | None) -> Iterator[Element]:
        at = int(str(start.value["n"])) if start else 0
        while at < self._source.rows:
            if self._source.act and at >= self._source.at:
                self._source.perform()
            until = min(at + self._source.batch, self._source.rows)
            data = pa.RecordBatch.from_pydict({"n": pa.array(range(at, until), pa.int64())})
            yield Batch(split.table, data, end=Position({"n": until}))
            at = until


@dataclass(frozen=True)
class Halve(Transform):
    """Keeps the even numbers."""

    def output(self) -> TableSchema | None:
        return TableSchema(TablePath.parse("numbers"), (NUMBER,))

    def apply(self, batch: Batch) -> Iterable[Batch]:
        odd = pc.equal(pc.bit_wise_and(batch.data.column("n"), 1), 1)
        yield Batch(batch.table, batch.data.filter(pc.invert(odd)), end=batch.end)


@dataclass(frozen=True)
class Twice(Halve):
    """Yields every batch two times."""

    def apply(self, batch: Batch) -> Iterable[Batch]:
        return (batch, batch)


@dataclass(frozen=True)
class Refuse(Halve):
    """Refuses every row."""

    def apply(self, batch: Batch) -> Iterable[Rejected]:  # type: ignore[override]
        yield Rejected(batch.table, batch.data, tuple(f"{n} is odd" for n in range(batch.rows)))


@dataclass(frozen=True)
class Lines(Sink):
    """A file of numbers for each unit. ``lies`` is how many rows it forgets to confirm."""

    directory: str
    lies: int = 0
    password: str = ""

    @property
    def target(self) -> str:
        return self.directory

    def open(self, context: WriteContext) -> Writer:
        name = f"{context.data_id}.e{context.epoch}.a{context.attempt}".replace("/", "_")
        return _LinesWriter(Path(self.directory) / name, self.lies)


class _LinesWriter(Writer):
    def __init__(self, path: Path, lies: int) -> None:
        self._path = path
        self._lies = lies
        self._lines: list[str] = []

    def write(self, batch: Batch) -> None:
        self._lines += [str(value) for value in batch.data.column("n").to_pylist()]

    def stage(self) -> Piece:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text("\n".join(self._lines))
        return Piece(len(self._lines) - self._lies, data={"path": str(self._path)})

    def abort(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.with_suffix(".aborted").touch()


def chain(
    source: Numbers,
    directory: Path,
    *transforms: Transform,
    cardinality: Cardinality = Cardinality.ONE_TO_ONE,
    **sink: object,
) -> Chain:
    """A chain from ``source`` to a directory; its vertex has the table's name."""
    path = TablePath.parse(source.table)
    return Chain(
        vertex=source.table,
        job_id="job",
        lineage="lineage",
        incarnation=1,
        head=ChainSource("numbers", source, table_of(source.table)),
        transforms=tuple(
            ChainTransform(f"t{number}", path, transform, cardinality) for number, transform in enumerate(transforms)
        ),
        sinks=(ChainSink("lines", path, Lines(str(directory), **sink)),),  # type: ignore[arg-type]
    )


def unit(source: Numbers, rows: int = 500_000, **more: object) -> Unit:
    """The first unit of a source's only split."""
    path = TablePath.parse(source.table)
    return Unit(UnitId(source.table, 0), Split("all", path), budget=Budget(rows, 60.0), **more)  # type: ignore[arg-type]


def written(directory: Path) -> list[int]:
    """Every number that units staged, sorted."""
    files = [path for path in directory.iterdir() if path.suffix != ".aborted"] if directory.exists() else []
    return sorted(int(line) for path in files for line in path.read_text().split())


@dataclass(frozen=True)
class Streams(Source):
    """Numbers again, from as many splits as there are, for ever; ``log`` gets a line for each reader that is opened and
    each that is closed. At ``at`` it does what ``act`` says, once."""

    log: str
    batch: int = 10
    act: str = ""
    at: int = 0

    def tables(self) -> Sequence[SourceTable]:
        return [table_of("streams")]

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        raise AssertionError("units are made by the tests")

    def reader(self, table: SourceTable) -> Reader:
        return _StreamsReader(self)

    def tell(self, what: str) -> None:
        with Path(self.log).open("a") as log:
            log.write(f"{what} {os.getpid()}\n")


class _StreamsReader(Reader):
    def __init__(self, source: Streams) -> None:
        self._source = source

    def read(self, split: Split, start: Position | None) -> Iterator[Element]:
        source = self._source
        at = int(str(start.value["n"])) if start else 0
        source.tell(f"open {split.id} {at}")
        try:
            while True:
                if source.act and at == source.at:
                    Numbers(act=source.act, once=f"{source.log}.once", seconds=3600).perform()
                data = pa.RecordBatch.from_pydict({"n": pa.array(range(at, at + source.batch), pa.int64())})
                at += source.batch
                yield Batch(split.table, data, end=Position({"n": at}))
        finally:
            source.tell(f"close {split.id} {at}")
