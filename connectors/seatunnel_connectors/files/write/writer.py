"""Writes the batches of one unit into unfinished files, closed and synced when the unit is staged.

Files grow in a directory of this attempt alone, inside a hidden one next to their final place, so that a rename makes
them visible. Readers of the target cannot see them before.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from seatunnel_connectors.files import failpoints
from seatunnel_connectors.files.formats.writers.base import Counted, FormatWriter, name_ending, writer_for
from seatunnel_connectors.files.storage import LocalFiles, outside
from seatunnel_connectors.files.write.file_names import STAGING, UnitNames, partition_directory
from seatunnel_connectors.files.write.options import CHANGE_FORMATS, FileWriteOptions
from seatunnel_py.api import Batch, Column, FatalError, Piece, Plain, RowKind, TableSchema, WriteContext, Writer
from seatunnel_py.formats.json.changes import paired
from seatunnel_py.formats.value_text import TextRules, text_values

if TYPE_CHECKING:
    import pyarrow as pa

OPEN_FILES_MAX = 64  # partitions written at once; the least recently used one is closed, and gets another part later

KIND = "\0kind"


@dataclass(frozen=True, slots=True)
class WritePlan:
    """Decisions that writers and committers share: place, format, columns."""

    storage: LocalFiles
    options: FileWriteOptions
    table: TableSchema
    root: str
    staging: str

    @property
    def selected(self) -> tuple[Column, ...]:
        """Columns of written rows, partition columns included."""
        names = self.options.sink_columns or self.table.names
        return tuple(column for name in names if (column := self.table.column(name)) is not None)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns inside the files."""
        left_out = () if self.options.is_partition_field_write_in_file else self.options.partitions
        return tuple(column for column in self.selected if column.name not in left_out)

    def scope_directory(self, lineage: str, scope: str) -> str:
        return str(Path(self.staging, lineage or "none", scope))


def names_of(plan: WritePlan, context: WriteContext) -> UnitNames:
    return UnitNames(context.job_id, context.lineage, context.step, plan.table.path, context.data_id)


def unit_directory(plan: WritePlan, context: WriteContext) -> str:
    """Directory of this attempt alone: other attempts at the same rows never use it."""
    names = names_of(plan, context)
    attempt = f"{names.rows}.{context.incarnation}.{context.epoch}.{context.attempt}"
    return str(Path(plan.scope_directory(context.lineage, names.scope), attempt))


def kept_rows(options: FileWriteOptions, batch: Batch) -> pa.RecordBatch:
    """Rows to write: of every kind, as in SeaTunnel. Rows before an update are written only if they are not
    merged. Formats with kinds get the kind as the last column, and merge the two rows of a change into one message;
    rows that were buffered already have that column. Raises FatalError if cells are absent: a file has no row to keep
    them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if batch.lacks_cells:
        raise FatalError(
            f"table {batch.table}: the source sent rows with absent cells, and files need whole rows",
            "let the source send whole rows, or write into a target that updates rows by key",
        )
    data = batch.data
    if options.file_format_type not in CHANGE_FORMATS:
        if not options.merge_update_event or batch.kinds is None:
            return data
        return data.filter(pc.not_equal(batch.kinds, int(RowKind.UPDATE_BEFORE)))
    if KIND in data.schema.names:
        return data
    kinds = batch.kinds if batch.kinds is not None else pa.repeat(pa.scalar(0, pa.uint8()), batch.rows)
    return data.append_column(KIND, paired(kinds, _same_file(options, data)) if options.merge_update_event else kinds)


def _same_file(options: FileWriteOptions, data: pa.RecordBatch) -> Any:
    """Mark rows that go to the same partition as the next one; a change that moves a row stays two messages."""
    import numpy as np
    import pyarrow.compute as pc

    same = np.ones(data.num_rows, dtype=bool)
    for name in options.partitions:
        column = data.column(name)
        equal = pc.fill_null(pc.equal(column.slice(0, max(0, len(column) - 1)), column.slice(1)), False)
        same[:-1] &= np.asarray(equal)
    return same


def _combined(columns: list[pa.DictionaryArray]) -> Any:
    """One number for the row's values in all of these columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    code = columns[0].indices.cast(pa.int64())
    for column in columns[1:]:
        code = pc.add(pc.multiply(code, len(column.dictionary)), column.indices.cast(pa.int64()))
    return code


@dataclass(slots=True)
class _Part:
    """An unfinished file."""

    temp: str
    final: str
    file: IO[bytes]
    counted: Counted
    writer: FormatWriter
    rows: int = 0


@dataclass(slots=True)
class FileWriter(Writer):
    """Writes the batches of one unit."""

    plan: WritePlan
    context: WriteContext
    directory: str = ""
    suffix: str = ""
    stem: str = ""
    parts: dict[str, _Part] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    files: list[dict[str, Plain]] = field(default_factory=list)
    rows: int = 0
    merged: int = 0

    def __post_init__(self) -> None:
        self.directory = self.directory or unit_directory(self.plan, self.context)
        self.stem = names_of(self.plan, self.context).stem(self.plan.options) + self.suffix

    def write(self, batch: Batch) -> None:
        data = kept_rows(self.plan.options, batch)
        self.merged += batch.rows - data.num_rows
        self.rows += batch.rows
        for directory, rows in self._partitioned(data):
            self._write_rows(directory, rows)

    def _partitioned(self, data: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield rows by target directory, in their order."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = [KIND] if self.plan.options.file_format_type in CHANGE_FORMATS else []
        inside = data.select([*(column.name for column in self.plan.columns), *kind])
        names = self.plan.options.partitions
        if not names or not data.num_rows:
            yield "", inside
            return
        values = [self._values(data, name) for name in names]
        encoded = _combined(values).dictionary_encode()
        if len(encoded.dictionary) == 1:
            yield self._directory(encoded.dictionary[0].as_py(), values), inside
            return
        order = pc.sort_indices(encoded.indices)
        rows = pa.Table.from_batches([inside]).take(order).combine_chunks().to_batches()[0]
        start = 0
        for index, count in enumerate(pc.value_counts(encoded.indices.take(order)).field("counts").to_pylist()):
            yield self._directory(encoded.dictionary[index].as_py(), values), rows.slice(start, count)
            start += count

    def _values(self, data: pa.RecordBatch, name: str) -> pa.DictionaryArray:
        """Texts of a partition column; null is one of them."""
        column = self.plan.table.column(name)
        assert column is not None
        options = self.plan.options
        rules = TextRules(None, options.date_format, options.datetime_format, options.time_format)
        return text_values(data.column(name), column.dtype, rules).dictionary_encode(null_encoding="encode")

    def _directory(self, code: int, columns: list[pa.DictionaryArray]) -> str:
        values = []
        for column in reversed(columns):
            code, index = divmod(code, len(column.dictionary))
            values.append(column.dictionary[index].as_py())
        return partition_directory(self.plan.options, tuple(reversed(values)))

    # ------------------------------------------------------------ files

    def touch(self) -> None:
        """Create a file even if no row ever comes."""
        self._part("")

    def _write_rows(self, directory: str, rows: pa.RecordBatch) -> None:
        start = 0
        while start < rows.num_rows:
            part = self._part(directory)
            space = min(part.writer.row_limit - part.rows, rows.num_rows - start)
            with outside("write", part.temp):
                part.writer.write(rows.slice(start, space))
            part.rows += space
            start += space
            if part.rows >= part.writer.row_limit:
                self._finish(directory)

    def _part(self, directory: str) -> _Part:
        part = self.parts.pop(directory, None)
        if part is None:
            if len(self.parts) >= OPEN_FILES_MAX:
                self._finish(next(iter(self.parts)))
            part = self._begin(directory)
        self.parts[directory] = part  # at the end: the first is the least recently used
        return part

    def _begin(self, directory: str) -> _Part:
        storage, options = self.plan.storage, self.plan.options
        if not self.counts:
            storage.make_directory(self.plan.root)
            storage.make_directory(self.directory, private=True)
        number = self.counts.get(directory, 0)
        self.counts[directory] = number + 1
        part_number = "" if options.single_file_mode and number == 0 else f"_{number}"
        name = f"{self.stem}{part_number}{name_ending(options)}"
        temp = str(Path(self.directory, f"{len(self.files) + len(self.parts)}-{number}.part"))
        file = storage.create(temp)
        counted = Counted(file)
        writer = writer_for(options, self.plan.columns)
        part = _Part(temp, str(Path(self.plan.root, directory, name)), file, counted, writer)
        self.parts[directory] = part
        with outside("write", temp):
            writer.begin(counted)
        return part

    def _finish(self, directory: str) -> None:
        part = self.parts[directory]  # abort must find it if this fails
        with outside("write", part.temp), part.file:
            part.writer.end()
            self.plan.storage.sync(part.file)
        del self.parts[directory]
        self.files.append(
            {
                "temp": part.temp,
                "final": part.final,
                "size": part.counted.size,
                "crc32": part.counted.crc32,
                "rows": part.rows,
            }
        )

    def stage(self) -> Piece:
        for directory in list(self.parts):
            self._finish(directory)
        failpoints.WRITTEN.hit()
        if self.files:
            self.plan.storage.sync_directory(self.directory)
        size = sum(int(str(file["size"])) for file in self.files)
        files: list[Plain] = [dict(file) for file in self.files]
        return Piece(self.rows, size, self.merged, {"files": files, "directory": self.directory})

    def abort(self) -> None:
        for part in self.parts.values():
            # Libraries close their files when they are garbage collected; let them do it now, into nothing.
            part.counted.drop()
            with contextlib.suppress(Exception):
                part.writer.end()
            with contextlib.suppress(Exception):
                part.file.close()
        with contextlib.suppress(Exception):
            self.plan.storage.delete_tree(self.directory)


def staging_of(storage: LocalFiles, root: str, tmp_path: str) -> str:
    """Directory of unfinished files: below ``tmp_path`` if files can be renamed from there to ``root``, else below
    that."""
    if tmp_path and storage.same_device(tmp_path, root):
        return str(Path(tmp_path, "seatunnel"))
    return str(Path(root, STAGING))
