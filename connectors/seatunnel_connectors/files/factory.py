"""What the LocalFile source and sink are called, what they take and what they promise."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from seatunnel_connectors.files.options import FileFormat, LocalFileSourceOptions
from seatunnel_connectors.files.sink import FileSink, check_table
from seatunnel_connectors.files.sink_options import LocalFileSinkOptions
from seatunnel_connectors.files.source import FileSource, FileTable
from seatunnel_connectors.files.storage import LocalStorage
from seatunnel_connectors.table_config import check_unique, table_path
from seatunnel_py.api import (
    Guarantee,
    JobMode,
    Sink,
    SinkCapabilities,
    SinkFactory,
    Source,
    SourceCapabilities,
    SourceFactory,
    StepContext,
    TableSchema,
)

_READING = {FileFormat.EXCEL: "python_calamine", FileFormat.XML: "lxml"}
_WRITING = {FileFormat.EXCEL: "xlsxwriter"}


def need_library(file_format: FileFormat | None, libraries: Mapping[FileFormat, str]) -> None:
    """Raise ImportError where a format's library is not installed, before anything starts."""
    name = libraries.get(file_format) if file_format else None
    if name and find_spec(name) is None:
        raise ImportError(f"the format {file_format} needs the library {name}", name=name)


class LocalFileSourceFactory(SourceFactory[LocalFileSourceOptions]):
    """Files of the local file system, and whatever is mounted into it."""

    name = "LocalFile"
    extra = "excel,xml"
    summary = "Reads text, csv, json, parquet, orc, excel, xml and binary files, also from archives"
    options = LocalFileSourceOptions

    def capabilities(self, options: LocalFileSourceOptions, context: StepContext) -> SourceCapabilities:
        return SourceCapabilities()

    def create(self, options: LocalFileSourceOptions, context: StepContext) -> Source:
        tables = tuple(
            FileTable(entry, table_path(entry.declared, options.plugin_output)) for entry in options.table_options()
        )
        check_unique(table.path for table in tables)
        for table in tables:
            need_library(table.options.file_format_type, _READING)
        return FileSource(LocalStorage(), tables)


class LocalFileSinkFactory(SinkFactory[LocalFileSinkOptions]):
    """Files are written aside and renamed when their checkpoint is complete."""

    name = "LocalFile"
    extra = "excel,xml"
    summary = "Writes text, csv, json, parquet, orc, excel, xml and binary files"
    options = LocalFileSinkOptions

    def capabilities(self, options: LocalFileSinkOptions, table: TableSchema, context: StepContext) -> SinkCapabilities:
        return SinkCapabilities(Guarantee.TWO_PHASE_COMMIT, "files are written aside and renamed at the commit")

    def create(self, options: LocalFileSinkOptions, table: TableSchema, context: StepContext) -> Sink:
        check_table(options, table)
        need_library(options.file_format_type, _WRITING)
        return FileSink(LocalStorage(), options, table, endless=context.mode is JobMode.STREAMING)
