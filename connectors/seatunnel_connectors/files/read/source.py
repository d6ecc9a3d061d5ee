"""Defines the file source: tables from options, splits from files, batches from splits.

A split is a document or a part of one, with the identity (size and time of change) of the file that was found. If a
file changes afterwards, that is an error: positions in it would be meaningless.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, cast

from seatunnel_connectors.files.formats.base import CONTENT, FormatReader, Layout, Undecoded
from seatunnel_connectors.files.formats.registry import reader_for
from seatunnel_connectors.files.read.document import Document
from seatunnel_connectors.files.read.options import FileReadOptions
from seatunnel_connectors.files.read.scan import (
    MissingPathError,
    codec_of,
    documents_of,
    find_documents,
    partition_names,
    partitions_of,
)
from seatunnel_connectors.files.storage import FileEntry, LocalFiles, path_of
from seatunnel_py.api import (
    PLAIN_READ,
    Batch,
    Column,
    Dataset,
    DataType,
    Element,
    Enumerator,
    FatalError,
    Kind,
    Plain,
    PluginError,
    Position,
    ReadContext,
    Reader,
    Rejected,
    Source,
    SourceTable,
    Split,
    TableFailure,
    TablePath,
)
from seatunnel_py.formats.schema_option import check_columns
from seatunnel_py.formats.schema_option import table_schema as declared_schema

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class FileTable:
    """One table of the source: its options and its identity."""

    options: FileReadOptions
    path: TablePath


@dataclass(frozen=True)
class FileSource(Source):
    """Reads tables from files of one storage."""

    storage: LocalFiles
    entries: tuple[FileTable, ...]

    def tables(self) -> Sequence[SourceTable | TableFailure]:
        return [self._table(entry) for entry in self.entries]

    def _table(self, entry: FileTable) -> SourceTable | TableFailure:
        """Find one table. A table whose files cannot be listed or read fails alone; wrong options are raised."""
        try:
            return self._described(entry)
        except _UnreadableError as error:
            return TableFailure(entry.path, error.cause.message, error.cause.remedy)

    def _described(self, entry: FileTable) -> SourceTable:
        with _reading():
            documents = find_documents(self.storage, entry.options)
        own = own_columns(entry.options, documents)
        from_path = entry.options.parse_partition_from_path and own != reader_for(entry.options).fixed_columns()
        partitions = partition_names(documents) if from_path else ()
        wanted, trailing = projected(entry.options, own, partitions)
        columns = {column.name: column for column in own}
        columns |= {name: Column(name, DataType(Kind.STRING)) for name in trailing}
        schema = declared_schema(entry.options.declared, columns=own)
        schema = replace(schema, path=entry.path)
        schema = schema.with_columns(tuple(columns[name] for name in wanted))
        hints: dict[str, Plain] = {"partitions": list(trailing)}
        size = sum(document.entry.size for document in documents)
        notes = entry.options.surplus_fields.notes(entry.options.file_format_type)
        return SourceTable(schema, bytes=size, hints=hints, notes=notes)

    def datasets(self, table: SourceTable) -> Sequence[Dataset]:
        entry = next(entry for entry in self.entries if entry.path == table.schema.path)
        return (Dataset("file", os.path.realpath(path_of(entry.options.path or ""))),)

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        wanted = {table.schema.path for table in tables}
        found = isinstance(state, dict) and bool(state.get("found"))
        entries = [] if found else [entry for entry in self.entries if entry.path in wanted]
        return FileEnumerator(self.storage, entries)

    def reader(self, table: SourceTable) -> Reader:
        entry = next(entry for entry in self.entries if entry.path == table.schema.path)
        return FileReader(self.storage, entry.options, table)


class _UnreadableError(Exception):
    """Files of one table cannot be listed or read."""

    def __init__(self, cause: PluginError) -> None:
        super().__init__(cause.message)
        self.cause = cause


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except MissingPathError:
        raise
    except PluginError as error:
        raise _UnreadableError(error) from error


def own_columns(options: FileReadOptions, documents: list[Document]) -> tuple[Column, ...]:
    """Columns of the documents: declared, or found in the first document."""
    reader = reader_for(options)
    fixed = reader.fixed_columns()
    if fixed:
        return fixed
    if options.declared and options.declared.declared_columns:
        return options.declared.declared_columns
    if not documents:
        return CONTENT
    if reader.needs_schema:
        raise FatalError(
            f"LocalFile: {path_of(options.path or '')}: the format {options.file_format_type} needs a schema",
            "declare the columns in schema.fields or schema.columns",
        )
    with _reading():
        return reader.find_columns(documents[0])


def projected(
    options: FileReadOptions, own: tuple[Column, ...], partitions: tuple[str, ...]
) -> tuple[list[str], list[str]]:
    """Names of the output's columns in order, and those of them that come from the path.

    Partition columns come last, in a projection too, unless it names them itself; if the file has a column of the same
    name, that one is used.
    """
    names = [column.name for column in own]
    trailing = [name for name in partitions if name not in names]
    if not options.read_columns:
        return [*names, *trailing], trailing
    try:
        check_columns(options.read_columns, [*names, *trailing], "read_columns")
    except ValueError as error:
        raise FatalError(str(error), "correct read_columns") from None
    listed = list(dict.fromkeys(options.read_columns))
    return [*listed, *(name for name in trailing if name not in listed)], trailing


# ---------------------------------------------------------------- splits


class FileEnumerator(Enumerator):
    """Finds the documents of its tables once, and divides the big ones."""

    def __init__(self, storage: LocalFiles, entries: list[FileTable]) -> None:
        self.storage = storage
        self.entries = entries
        self.is_done = not entries

    def discover(self) -> Iterable[Split]:
        entries, self.entries = self.entries, []
        for entry in entries:
            reader = reader_for(entry.options)
            for document in find_documents(self.storage, entry.options):
                yield from _splits(entry, reader, document)
        self.is_done = True

    def snapshot(self) -> Plain:
        """Files are looked for once: a restart continues with the splits that were found then."""
        return {"found": self.is_done}


def _splits(entry: FileTable, reader: FormatReader, document: Document) -> Iterator[Split]:
    parts = reader.parts(document)
    size = document.entry.size // len(parts) if parts else 0
    for index, part in enumerate(parts):
        suffix = f"#{index}" if len(parts) > 1 else ""
        payload: dict[str, Plain] = {
            "path": document.entry.path,
            "size": document.entry.size,
            "mtime_ns": document.entry.mtime_ns,
            "member": dict(document.member) if document.member else None,
            "part": dict(part),
        }
        yield Split(f"{entry.path}:{document.name}{suffix}", entry.path, payload, bytes=size)


def document_of(storage: LocalFiles, options: FileReadOptions, split: Split) -> Document:
    """The document of a split."""
    payload = cast("Mapping[str, Any]", split.payload)
    entry = FileEntry(payload["path"], payload["size"], payload["mtime_ns"])
    if payload["member"]:
        return Document(storage, entry, archive=options.archive_compress_codec.value, member=payload["member"])
    if options.archive_compress_codec.value != "none":
        return documents_of(storage, options, entry)[0]
    return Document(storage, entry, codec=codec_of(options, entry.path))


# ---------------------------------------------------------------- reading


class FileReader(Reader):
    """Reads splits of one table."""

    def __init__(self, storage: LocalFiles, options: FileReadOptions, table: SourceTable) -> None:
        self.storage = storage
        self.options = options
        self.schema = table.schema
        self.partitions = cast("list[str]", table.hints.get("partitions", []))
        self.layout = self._layout(table)

    def _layout(self, table: SourceTable) -> Layout:
        """Without a declared schema, a reader needs to know only the wanted columns."""
        declared = self.options.declared.declared_columns if self.options.declared else ()
        own = declared or tuple(c for c in table.schema.columns if c.name not in self.partitions)
        names = {column.name for column in own} - set(self.partitions)
        wanted = tuple(name for name in self.schema.names if name in names)
        return Layout(own, wanted, declared=bool(declared))

    def read(self, split: Split, start: Position | None, context: ReadContext = PLAIN_READ) -> Iterator[Element]:
        document = document_of(self.storage, self.options, split)
        document.check_unchanged()
        part = cast("Mapping[str, Plain]", split.payload["part"])
        generation = document.entry.generation
        reader = reader_for(self.options)
        reader.tolerant = context.tolerant
        before = start
        for data, place in reader.read(document, self.layout, part, start.value if start else None):
            end = Position(place, generation) if place is not None else None
            if isinstance(data, Undecoded):
                yield Rejected(self.schema.path, data.as_rows(), data.reasons, end)
                continue
            rows = self._with_partitions(document, data)
            metadata = metadata_of(document, rows.num_rows) if context.with_metadata else {}
            yield Batch(self.schema.path, rows, end=end, start=before, metadata=metadata)
            before = end
        document.check_unchanged()

    def _with_partitions(self, document: Document, data: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow as pa

        values = partitions_of(document.entry.path) if self.partitions else {}
        arrays = []
        for column in self.schema.columns:
            if column.name in self.partitions:
                value = pa.scalar(values.get(column.name), pa.string())
                arrays.append(pa.repeat(value, data.num_rows))
            else:
                arrays.append(data.column(column.name))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema.arrow())


def metadata_of(document: Document, rows: int) -> dict[str, pa.Array]:
    """Columns for the transform Metadata: the same values for all rows of a document, so each text is stored once."""
    import pyarrow as pa

    entry = document.entry
    path = str(document.member["name"]) if document.member else entry.path
    # Python before 3.12 cannot read a file's creation time; SeaTunnel falls back to its last change as well.
    changed = pa.scalar(entry.mtime_ns // 1_000_000, pa.int64())
    texts = {"FilePath": path, "FileType": PurePath(path).suffix.removeprefix(".")}
    numbers = {"FileCreateTime": changed, "FileUpdateTime": changed, "FileSize": pa.scalar(entry.size, pa.int64())}
    place = pa.repeat(pa.scalar(0, pa.int8()), rows)
    named = {name: pa.DictionaryArray.from_arrays(place, pa.array([text])) for name, text in texts.items()}
    return {**named, **{name: pa.repeat(number, rows) for name, number in numbers.items()}}
