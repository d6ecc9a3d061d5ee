"""A source and a sink in one function each: the parameters are the options."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from seatunnel_py.api import Batch, Determinism, Guarantee, WriteContext, option, simple_sink, simple_source


@simple_source("Squares", columns={"n": "bigint", "square": "bigint"}, determinism=Determinism.DETERMINATE)
def squares(upto: int = option(ge=0, doc="the last number; 1 is the first")) -> Iterator[pa.RecordBatch]:
    numbers = range(1, upto + 1)
    yield pa.record_batch({"n": numbers, "square": [n * n for n in numbers]})


@simple_sink("UnitFiles", guarantee=Guarantee.IDEMPOTENT, why="a file has the name of the rows in it")
def unit_files(batches: Iterator[Batch], context: WriteContext, directory: str) -> int:
    path = Path(directory, f"{context.data_id.encode().hex()}.txt")
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [row for batch in batches for row in batch.data.to_pylist()]
    path.write_text("".join(f"{row}\n" for row in rows))
    return len(rows)
