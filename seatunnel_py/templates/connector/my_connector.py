"""A source of numbers and a sink of JSON lines: small, complete, and meant as a start for your own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

from seatunnel_py.api import (
    Batch,
    Determinism,
    Guarantee,
    Position,
    SimpleSink,
    SimpleSource,
    Split,
    WriteContext,
    option,
)


class Numbers(SimpleSource):
    """Annotated attributes are options of the job file; `seatunnel plugins show MyNumbers` prints them."""

    name = "MyNumbers"
    summary = "counts from 0"
    columns: ClassVar = {"id": "bigint"}
    # Who else writes there? Rows that others change while they are read are Determinism.INDETERMINATE.
    determinism = Determinism.DETERMINATE
    rows: int = option(ge=0, doc="how many numbers, from 0")

    def read(self, split: Split, start: Position | None) -> Iterable[dict[str, int]]:
        """Yield the rows, in a worker. Faster than dicts are batches of pyarrow."""
        return ({"id": number} for number in range(self.rows))


class Lines(SimpleSink):
    """One file for each unit of work, named after the rows: a second attempt at them replaces it."""

    name = "MyLines"
    summary = "writes rows as lines of JSON"
    guarantee = Guarantee.IDEMPOTENT
    why = "a file is named after the rows in it"
    directory: str = option(doc="where the files go; made when it is not there")

    @property
    def target(self) -> str:
        return self.directory

    def prepare(self) -> None:
        """Once, on the driver, before anything is written; `seatunnel plan` shows it."""
        Path(self.directory).mkdir(parents=True, exist_ok=True)

    def write(self, batches: Iterator[Batch], context: WriteContext) -> int:
        """Write one unit, in a worker. The file appears whole or not at all."""
        name = hashlib.sha256(f"{context.step} {context.data_id}".encode()).hexdigest()[:16]
        path = Path(self.directory) / f"{name}.jsonl"
        temporary = path.with_suffix(".tmp")
        rows = 0
        try:
            with temporary.open("w") as file:
                for batch in batches:
                    file.writelines(json.dumps(row, default=str) + "\n" for row in batch.data.to_pylist())
                    rows += batch.rows
            temporary.rename(path)
        finally:
            temporary.unlink(missing_ok=True)
        return rows
