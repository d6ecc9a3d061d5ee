"""Reads bad rows as a source, for a replay. Rows come as they were read once, in the order in which they were kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from seatunnel_py.api.batch import Batch, Element, Plain, Position
from seatunnel_py.api.schema import TableSchema
from seatunnel_py.api.source import PLAIN_READ, Enumerator, ReadContext, Reader, Source, SourceTable, Split
from seatunnel_py.errors import BadRowsError
from seatunnel_py.work.bad_rows import quarantine_file


@dataclass(frozen=True)
class QuarantineSource(Source):
    """The rows of some files that entered the pipeline at ``step``, as rows of ``table``. Undecoded bytes are not among
    them."""

    files: tuple[str, ...]
    step: str
    table: TableSchema

    def tables(self) -> Sequence[SourceTable]:
        return [SourceTable(self.table)]

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        return _Files(self)

    def reader(self, table: SourceTable) -> Reader:
        return _RowsOfFiles(self)


class _Files(Enumerator):
    def __init__(self, source: QuarantineSource) -> None:
        self._source = source

    def discover(self) -> Iterable[Split]:
        path = self._source.table.path
        return [Split(Path(file).stem, path, {"file": file}) for file in self._source.files]


class _RowsOfFiles(Reader):
    def __init__(self, source: QuarantineSource) -> None:
        self._source = source

    def read(self, split: Split, start: Position | None, context: ReadContext = PLAIN_READ) -> Iterator[Element]:
        done = int(str(start.value["batch"])) if start else 0
        for number, (about, bad) in enumerate(quarantine_file.read(str(split.payload["file"])), start=1):
            mine = about.step == self._source.step and bad.batch.table == self._source.table.path and not bad.raw
            if number > done and mine:
                yield replace(bad.batch, data=self._as_now(bad.batch), start=None, end=Position({"batch": number}))

    def _as_now(self, batch: Batch) -> pa.RecordBatch:
        """The current columns of the table; a column that was added later is null."""
        wanted = self._source.table.arrow()
        columns = []
        for field in wanted:
            at = batch.data.schema.get_field_index(field.name)
            array = batch.data.column(at) if at >= 0 else pa.nulls(batch.rows, field.type)
            try:
                columns.append(array if array.type == field.type else array.cast(field.type))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise BadRowsError(
                    f"column {field.name!r} of {batch.table} is of another type by now: {error}"
                ) from None
        return pa.RecordBatch.from_arrays(columns, schema=wanted)
