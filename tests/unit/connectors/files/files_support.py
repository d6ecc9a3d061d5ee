"""Drives the file source and sink by the api alone, as an engine would."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_connectors.files.factory import LocalFileSinkFactory, LocalFileSourceFactory
from seatunnel_py.api import (
    PLAIN_READ,
    Batch,
    CommitContext,
    FatalError,
    Piece,
    Position,
    ReadContext,
    Reader,
    Sink,
    Source,
    SourceTable,
    Split,
    StepContext,
    TableFailure,
    TableSchema,
    WriteContext,
)

LINEAGE = "lineage-1"


def conformance(*parts: str) -> Path:
    """A file or directory of the shared conformance set, or a skip that says where it was looked for."""
    root = Path(__file__).parents[4]
    place = Path(os.environ.get("SEATUNNEL_CONFORMANCE", root.parent / "shared" / "conformance")).joinpath(*parts)
    if not place.exists():
        pytest.skip(f"no conformance data at {place}: set SEATUNNEL_CONFORMANCE")
    return place


def source(**options: Any) -> Source:
    factory = LocalFileSourceFactory()
    model = factory.options.model_validate(options, context={"job_file": True})
    return factory.create(model, StepContext("read"))


def sink(table: TableSchema, *, job: str = "", **options: Any) -> Sink:
    factory = LocalFileSinkFactory()
    model = factory.options.model_validate(options, context={"job_file": True})
    return factory.create(model, table, StepContext("write", job_id=job))


def splits_of(made: Source, table: SourceTable) -> list[Split]:
    return list(made.enumerator([table], None).discover())


def elements(
    reader: Reader, split: Split, start: Position | None = None, context: ReadContext = PLAIN_READ
) -> list[Batch]:
    found = list(reader.read(split, start, context))
    assert all(isinstance(item, Batch) for item in found)
    return [item for item in found if isinstance(item, Batch)]


def read(**options: Any) -> tuple[TableSchema, pa.Table]:
    """All rows of the (first) table."""
    made = source(**options)
    table = made.tables()[0]
    if isinstance(table, TableFailure):
        raise FatalError(table.message, table.remedy)
    schema = table.schema.arrow()
    batches = [item.data for split in splits_of(made, table) for item in elements(made.reader(table), split)]
    for batch in batches:
        batch.validate(full=True)
    return table.schema, pa.Table.from_batches(batches, schema)


def rows(**options: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read(**options)[1].to_pylist()
    return found


def stage(made: Sink, batches: list[pa.RecordBatch], data_id: str = "split@", **context: Any) -> Piece:
    setup, lineage = context.pop("setup", {}), context.pop("lineage", LINEAGE)
    writer = made.open(WriteContext("job", lineage, "write", data_id, setup=setup, **context))
    try:
        for data in batches:
            writer.write(Batch(made.table.path, data))  # type: ignore[attr-defined]
        return writer.stage()
    except BaseException:
        writer.abort()
        raise


def commit(made: Sink, pieces: list[Piece], checkpoint: int = 1, *, final: bool = True, **more: Any) -> None:
    context = CommitContext("job", LINEAGE, "write", checkpoint, final=final, **more)
    made.committer().commit(pieces, context)


def write(table: TableSchema, data: list[pa.RecordBatch], **options: Any) -> Sink:
    """Set up, write as one unit, commit."""
    made = sink(table, **options)
    setup = made.plan_setup()
    made.setup(setup)
    commit(made, [stage(made, data, setup=setup.data)], setup=setup.data)
    return made


def visible(path: Path) -> list[Path]:
    """Files that a reader of the target sees, and proof that nothing else is left."""
    return sorted(file for file in path.rglob("*") if file.is_file())
