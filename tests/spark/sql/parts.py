"""A source that counts, a sink that keeps: what query units are tested with. Imported by workers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from seatunnel_py.api import (
    Batch,
    Column,
    FatalError,
    Piece,
    Position,
    Reader,
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

PATH = TablePath("shop", "", "orders")
SIDE = TablePath("shop", "", "errors")
TABLE = TableSchema(
    PATH,
    tuple(
        Column(name, parse_type(dtype))
        for name, dtype in {
            "id": "bigint",
            "name": "string",
            "at": "timestamp",
            "clock": "time",
            "price": "decimal(10, 2)",
            "tags": "array<string>",
            "attributes": "map<string, int>",
            "half": "float16_vector",
        }.items()
    ),
)


def rows(first: int, count: int) -> pa.RecordBatch:
    ids = range(first, first + count)
    return pa.RecordBatch.from_pylist(
        [
            {
                "id": at,
                "name": f"n{at}" if at % 5 else None,
                "at": at * 1_000_000,
                "clock": at,
                "price": None,
                "tags": [str(at), None],
                "attributes": [("a", at)],
                "half": [1.5],
            }
            for at in ids
        ],
        schema=TABLE.arrow(),
    )


@dataclass(frozen=True)
class Numbers(Source):
    """``batches`` of ``size`` rows; every third row is a DELETE. Fails behind ``fails_after`` rows."""

    batches: int = 4
    size: int = 10
    kinds: bool = True
    fails_after: int = 1 << 40

    def tables(self) -> Sequence[SourceTable]:
        return (SourceTable(TABLE),)

    def enumerator(self, tables: Sequence[SourceTable], state: object) -> object:  # type: ignore[override]
        raise AssertionError

    def reader(self, table: SourceTable) -> Reader:
        return NumbersReader(self)


class NumbersReader(Reader):
    def __init__(self, source: Numbers) -> None:
        self.source = source

    def read(self, split: Split, start: Position | None) -> Iterator[Batch]:
        source = self.source
        at = int(start.value["next"]) if start else 0  # type: ignore[arg-type]
        while at < source.batches * source.size:
            if at >= source.fails_after:
                raise FatalError("the source broke", "mend it")
            data = rows(at, source.size)
            kinds = pa.array([3 if row % 3 == 0 else 0 for row in range(at, at + source.size)], pa.uint8())
            at += source.size
            marks = {"Delay": pa.array([row * 2 for row in range(at - source.size, at)], pa.int64())}
            yield Batch(PATH, data, Position({"next": at}), kinds=kinds if source.kinds else None, metadata=marks)


@dataclass(frozen=True)
class Kept(Sink):
    """Writes every batch as a line of JSON into a file of the unit. Fails at a row with ``fails_at``."""

    place: str
    fails_at: int = -1

    def open(self, context: WriteContext) -> Writer:
        return KeptWriter(self, context)


class KeptWriter(Writer):
    def __init__(self, sink: Kept, context: WriteContext) -> None:
        self.sink = sink
        self.lines: list[str] = []
        self.path = Path(sink.place) / f"{context.step}-{context.data_id}-{context.attempt}.json".replace("/", "_")
        self.rows = 0

    def write(self, batch: Batch) -> None:
        if self.sink.fails_at in batch.data.column(0).to_pylist():
            raise FatalError("the target broke")
        self.rows += batch.rows
        self.lines.append(
            json.dumps(
                {
                    "table": str(batch.table),
                    "end": dict(batch.end.value) if batch.end else None,
                    "kinds": batch.kinds.to_pylist() if batch.kinds is not None else None,
                    "metadata": {name: values.to_pylist() for name, values in batch.metadata.items()},
                    "types": [str(field.type) for field in batch.data.schema],
                    "rows": batch.data.to_pylist(),
                },
                default=str,
            )
        )

    def stage(self) -> Piece:
        self.path.write_text("\n".join(self.lines))
        return Piece(self.rows)

    def abort(self) -> None:
        self.path.with_suffix(".aborted").touch()


@dataclass(frozen=True)
class Doubled(Transform):
    """``id`` twice as large; every tenth row also goes to a table of its own."""

    table: TableSchema = TABLE

    def output(self) -> TableSchema:
        return self.table

    def side_outputs(self) -> Sequence[TableSchema]:
        return (TableSchema(SIDE, (Column("id", parse_type("bigint")),)),)

    def apply(self, batch: Batch) -> Iterable[Batch]:
        from dataclasses import replace

        import pyarrow.compute as pc

        ids = batch.data.column("id")
        at = batch.data.schema.get_field_index("id")
        yield replace(batch, data=batch.data.set_column(at, batch.data.schema.field(at), pc.multiply(ids, 2)))
        aside = [value for value in ids.to_pylist() if value % 10 == 0]
        yield Batch(SIDE, pa.RecordBatch.from_pydict({"id": pa.array(aside, pa.int64())}), batch.end)
