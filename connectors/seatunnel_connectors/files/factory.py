"""Declares the LocalFile source and sink: names, options and guarantees."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING

from seatunnel_connectors.files.lzop import LZO_LIBRARY
from seatunnel_connectors.files.read.options import CompressCodec, LocalFileSourceOptions
from seatunnel_connectors.files.write.options import CHANGE_FORMATS, LocalFileSinkOptions, WriteFormat
from seatunnel_py.api import (
    Determinism,
    Guarantee,
    JobMode,
    SinkCapabilities,
    SinkFactory,
    SourceCapabilities,
    SourceFactory,
)

if TYPE_CHECKING:
    from seatunnel_py.api import (
        Plain,
        Shorthand,
        Sink,
        Source,
        StepContext,
        TableSchema,
    )

# keyed by format names, which are the same for reading and writing
_ARROWS = {"parquet": "pyarrow.parquet", "orc": "pyarrow.orc"}
_EXTRAS = {"excel": "excel", "xml": "xml"}
_READING = {"excel": "python_calamine", "xml": "lxml"}
_WRITING = {"excel": "xlsxwriter"}


def _arrows(file_format: str) -> tuple[str, ...]:
    """Arrow's module for a format: importing it takes a worker longer than writing a small file."""
    return (_ARROWS[file_format],) if file_format in _ARROWS else ()


def need_library(file_format: str | None, codec: CompressCodec, libraries: Mapping[str, str]) -> None:
    """Raise ImportError if a format's or codec's library is not installed, before anything starts."""
    name = libraries.get(file_format) if file_format else None
    if name and find_spec(name) is None:
        raise ImportError(f"the format {file_format} needs the library {name}", name=name)
    if codec is CompressCodec.LZO and find_spec(LZO_LIBRARY) is None:
        raise ImportError(f"compression with lzo needs the library {LZO_LIBRARY}", name=LZO_LIBRARY)


def extras_of(file_format: str | None, codec: CompressCodec) -> tuple[str, ...]:
    """The extras with the libraries of a format and a codec."""
    named = _EXTRAS.get(file_format) if file_format else None
    return tuple(filter(None, (named, "lzo" if codec is CompressCodec.LZO else None)))


class LocalFileSourceFactory(SourceFactory[LocalFileSourceOptions]):
    """Reads files of the local file system, and of file systems mounted into it."""

    name = "LocalFile"
    extra = "excel,xml,lzo"
    summary = "Reads text, csv, json, parquet, orc, excel, xml and binary files, also from archives"
    options = LocalFileSourceOptions

    def from_shorthand(self, end: Shorthand) -> Mapping[str, Plain] | None:
        from seatunnel_connectors.files import shorthand

        return shorthand.reading(end)

    def extras(self, options: LocalFileSourceOptions) -> tuple[str, ...]:
        return tuple(
            extra
            for table in options.table_options()
            for extra in extras_of(table.file_format_type, table.compress_codec)
        )

    def modules(self, options: LocalFileSourceOptions) -> tuple[str, ...]:
        from seatunnel_connectors.files.formats.registry import reader_module

        formats = {one.file_format_type for one in options.table_options() if one.file_format_type is not None}
        needed = [name for one in sorted(formats) for name in (reader_module(one), *_arrows(one))]
        return ("seatunnel_connectors.files.read.source", *needed)

    def test_connection(self, options: LocalFileSourceOptions) -> Mapping[str, str]:
        from seatunnel_connectors.files.read.scan import find_files
        from seatunnel_connectors.files.storage import LocalFiles

        found = [entry for table in options.table_options() for entry in find_files(LocalFiles(), table)]
        return {"files": f"{len(found):,}", "bytes": f"{sum(entry.size for entry in found):,}"}

    def capabilities(self, options: LocalFileSourceOptions, context: StepContext) -> SourceCapabilities:
        return SourceCapabilities(determinism=Determinism.DETERMINATE)

    def create(self, options: LocalFileSourceOptions, context: StepContext) -> Source:
        from seatunnel_connectors.files.read.source import FileSource, FileTable
        from seatunnel_connectors.files.storage import LocalFiles
        from seatunnel_py.formats.schema_option import check_unique, table_path

        tables = tuple(
            FileTable(entry, table_path(entry.declared, options.plugin_output)) for entry in options.table_options()
        )
        check_unique(table.path for table in tables)
        for table in tables:
            need_library(table.options.file_format_type, table.options.compress_codec, _READING)
        return FileSource(LocalFiles(), tables)


class LocalFileSinkFactory(SinkFactory[LocalFileSinkOptions]):
    """Writes files under temporary names and renames them when their checkpoint is complete."""

    name = "LocalFile"
    extra = "excel,xml,lzo"
    summary = "Writes text, csv, json, parquet, orc, excel, xml and binary files"
    options = LocalFileSinkOptions

    def from_shorthand(self, end: Shorthand) -> Mapping[str, Plain] | None:
        from seatunnel_connectors.files import shorthand

        return shorthand.writing(end)

    def extras(self, options: LocalFileSinkOptions) -> tuple[str, ...]:
        return extras_of(options.file_format_type, options.compress_codec)

    def modules(self, options: LocalFileSinkOptions) -> tuple[str, ...]:
        from seatunnel_connectors.files.formats.writers.base import writer_module

        kind = options.file_format_type
        writers = () if kind is WriteFormat.BINARY else (writer_module(kind),)  # the sink copies files itself
        return ("seatunnel_connectors.files.write.sink", *writers, *_arrows(kind))

    def test_connection(self, options: LocalFileSinkOptions) -> Mapping[str, str]:
        from seatunnel_connectors.files.storage import path_of, room_for

        return room_for(path_of(options.path))

    def capabilities(self, options: LocalFileSinkOptions, table: TableSchema, context: StepContext) -> SinkCapabilities:
        return SinkCapabilities(
            Guarantee.TWO_PHASE_COMMIT,
            "files are written aside and renamed at the commit",
            before_images=options.file_format_type in CHANGE_FORMATS,
        )

    def create(self, options: LocalFileSinkOptions, table: TableSchema, context: StepContext) -> Sink:
        from seatunnel_connectors.files.storage import LocalFiles
        from seatunnel_connectors.files.write.sink import FileSink, check_table, spelt_as_in

        options = spelt_as_in(table, options)
        check_table(options, table)
        need_library(options.file_format_type, options.compress_codec, _WRITING)
        endless = context.mode is JobMode.STREAMING
        return FileSink(LocalFiles(), options, table, endless, context.job_id, context.step)
