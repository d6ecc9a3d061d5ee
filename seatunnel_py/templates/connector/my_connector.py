"""A source of numbers and a sink of JSON lines: small, whole, and meant to be changed into yours."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from seatunnel_py.api import (
    PLAIN_READ,
    Batch,
    Column,
    Determinism,
    Effect,
    Guarantee,
    Piece,
    Position,
    ReadContext,
    Reader,
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
    WriteContext,
    Writer,
    option,
    parse_type,
)

BATCH_ROWS = 100

# ---------------------------------------------------------------- the source


class NumbersOptions(SourceOptions):
    """What a job file may say. `seatunnel plugins show MyNumbers` prints it."""

    rows: int = option(ge=0, doc="how many numbers, from 0")


@dataclass(frozen=True)
class Numbers(Source):
    """What is read. It goes to every worker, so it opens nothing: readers do."""

    rows: int

    def tables(self) -> Sequence[SourceTable]:
        columns = (Column("id", parse_type("bigint"), nullable=False),)
        return [SourceTable(TableSchema(TablePath.parse("numbers"), columns), rows=self.rows)]

    def splits(self, tables: Sequence[SourceTable]) -> Iterable[Split]:
        """Which parts there are. Parts that can be read at the same time are several splits."""
        return [Split("all", table.schema.path) for table in tables]

    def reader(self, table: SourceTable) -> Reader:
        return NumbersReader(self.rows)


class NumbersReader(Reader):
    """Reads one split, in a worker."""

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def read(self, split: Split, start: Position | None, context: ReadContext = PLAIN_READ) -> Iterator[Batch]:
        """`end` says where to go on behind a batch: a reader that starts there yields exactly the rows that follow."""
        first = start.int("next") if start else 0
        for at in range(first, self._rows, BATCH_ROWS):
            numbers = range(at, min(at + BATCH_ROWS, self._rows))
            data = pa.record_batch([pa.array(numbers, pa.int64())], ["id"])
            yield Batch(split.table, data, end=Position({"next": numbers.stop}))


class NumbersFactory(SourceFactory[NumbersOptions]):
    name = "MyNumbers"
    summary = "counts from 0"
    options = NumbersOptions

    def capabilities(self, options: NumbersOptions, context: StepContext) -> SourceCapabilities:
        # Who else writes there? Rows that others change while they are read are Determinism.INDETERMINATE.
        return SourceCapabilities(parallel=False, determinism=Determinism.DETERMINATE)

    def create(self, options: NumbersOptions, context: StepContext) -> Source:
        return Numbers(options.rows)


# ---------------------------------------------------------------- the sink


class LinesOptions(SinkOptions):
    """What a job file may say."""

    directory: str = option(doc="where the files go; made when it is not there")


@dataclass(frozen=True)
class Lines(Sink):
    """One file for each unit of work."""

    directory: str

    @property
    def target(self) -> str:
        return self.directory

    def plan_setup(self) -> Setup:
        """What will be done to the target at the start; `seatunnel plan` shows it."""
        return Setup() if Path(self.directory).is_dir() else Setup((Effect("create directory", self.directory),))

    def setup(self, setup: Setup) -> None:
        Path(self.directory).mkdir(parents=True, exist_ok=True)

    def open(self, context: WriteContext) -> Writer:
        """The file is named after the rows: a second attempt at them replaces it, and they count once."""
        name = hashlib.sha256(f"{context.step} {context.data_id}".encode()).hexdigest()[:16]
        return LinesWriter(Path(self.directory) / f"{name}.jsonl")


class LinesWriter(Writer):
    """Writes one unit, in a worker."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: list[str] = []

    def write(self, batch: Batch) -> None:
        self._lines += [json.dumps(row, default=str) for row in batch.data.to_pylist()]

    def stage(self) -> Piece:
        """The file appears whole or not at all."""
        temporary = self._path.with_suffix(".tmp")
        temporary.write_text("".join(f"{line}\n" for line in self._lines))
        temporary.rename(self._path)
        return Piece(rows=len(self._lines), bytes=self._path.stat().st_size)

    def abort(self) -> None:
        self._path.with_suffix(".tmp").unlink(missing_ok=True)


class LinesFactory(SinkFactory[LinesOptions]):
    name = "MyLines"
    summary = "writes rows as lines of JSON"
    options = LinesOptions

    def capabilities(self, options: LinesOptions, table: TableSchema, context: StepContext) -> SinkCapabilities:
        return SinkCapabilities(Guarantee.IDEMPOTENT, "a file is named after the rows in it")

    def create(self, options: LinesOptions, table: TableSchema, context: StepContext) -> Sink:
        return Lines(options.directory)
