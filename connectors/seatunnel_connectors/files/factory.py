"""What the LocalFile source and sink are called, what they take and what they promise."""

from __future__ import annotations

from seatunnel_connectors.files.options import LocalFileSourceOptions
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


class LocalFileSourceFactory(SourceFactory[LocalFileSourceOptions]):
    """Files of the local file system, and whatever is mounted into it."""

    name = "LocalFile"
    summary = "Reads text, csv, json, parquet, orc, excel, xml and binary files, also from archives"
    options = LocalFileSourceOptions

    def capabilities(self, options: LocalFileSourceOptions, context: StepContext) -> SourceCapabilities:
        return SourceCapabilities()

    def create(self, options: LocalFileSourceOptions, context: StepContext) -> Source:
        tables = tuple(
            FileTable(entry, table_path(entry.declared, options.plugin_output)) for entry in options.table_options()
        )
        check_unique(table.path for table in tables)
        return FileSource(LocalStorage(), tables)


class LocalFileSinkFactory(SinkFactory[LocalFileSinkOptions]):
    """Files are written aside and renamed when their checkpoint is complete."""

    name = "LocalFile"
    summary = "Writes text, csv, json, parquet, orc, excel, xml and binary files"
    options = LocalFileSinkOptions

    def capabilities(self, options: LocalFileSinkOptions, table: TableSchema, context: StepContext) -> SinkCapabilities:
        return SinkCapabilities(Guarantee.TWO_PHASE_COMMIT, "files are written aside and renamed at the commit")

    def create(self, options: LocalFileSinkOptions, table: TableSchema, context: StepContext) -> Sink:
        check_table(options, table)
        return FileSink(LocalStorage(), options, table, endless=context.mode is JobMode.STREAMING)
