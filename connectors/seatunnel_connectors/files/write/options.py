"""Options of files to write in a job file."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, field_validator, model_validator

from seatunnel_connectors.files.read.options import (
    CompressCodec,
    DelimiterText,
    EncodingName,
    PatternText,
    check_delimiters,
)
from seatunnel_connectors.save_modes import DataSaveMode, SchemaSaveMode
from seatunnel_py.api import Naming, Options, SinkOptions, option, required_when

TRANSACTION = "${transactionId}"


class WriteFormat(StrEnum):
    """Formats that can be read, and change logs, which keep the kinds of rows."""

    TEXT = "text"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    ORC = "orc"
    EXCEL = "excel"
    XML = "xml"
    BINARY = "binary"
    CANAL_JSON = "canal_json"
    DEBEZIUM_JSON = "debezium_json"
    MAXWELL_JSON = "maxwell_json"


CHANGE_FORMATS = frozenset({WriteFormat.CANAL_JSON, WriteFormat.DEBEZIUM_JSON, WriteFormat.MAXWELL_JSON})


class QuoteMode(StrEnum):
    MINIMAL = "MINIMAL"
    ALL = "ALL"
    NONE = "NONE"


STREAM_CODECS = {
    CompressCodec.GZIP: ".gz",
    CompressCodec.BZ2: ".bz2",
    CompressCodec.ZSTD: ".zst",
    CompressCodec.LZ4: ".lz4",
    CompressCodec.BROTLI: ".br",
    CompressCodec.LZO: ".lzo",
}
"""Compression of whole text files, with their name endings."""

CODECS: dict[WriteFormat, frozenset[CompressCodec]] = {
    WriteFormat.PARQUET: frozenset(
        {
            CompressCodec.SNAPPY,
            CompressCodec.LZ4,
            CompressCodec.GZIP,
            CompressCodec.BROTLI,
            CompressCodec.ZSTD,
        }
    ),
    WriteFormat.ORC: frozenset({CompressCodec.SNAPPY, CompressCodec.LZ4, CompressCodec.ZLIB, CompressCodec.ZSTD}),
    WriteFormat.EXCEL: frozenset(),
    WriteFormat.BINARY: frozenset(),
}
"""Compression of each format; the text formats take STREAM_CODECS."""


EXTENSION_MAX = 20  # characters; longer ones would not fit into names


def _extension(text: str) -> str:
    """Extension with its dot, even if a job file omits it."""
    bare = text.strip().removeprefix(".")
    if not bare or "/" in bare or "\0" in bare or len(bare.encode()) > EXTENSION_MAX:
        raise ValueError(f"{text!r} cannot end a file's name: give up to {EXTENSION_MAX} characters, such as .dat")
    return f".{bare}"


ExtensionText = Annotated[str, AfterValidator(_extension)]


class FileWriteOptions(Options):
    """Options of one table written to files; the same for every kind of storage."""

    path: str = option(naming=Naming.DIRECTORY, doc="directory for the files")
    tmp_path: str | None = option(
        None,
        naming=Naming.FILE,
        doc="directory for unfinished files; used if it is on the same file system as path",
    )
    file_format_type: WriteFormat = option(WriteFormat.CSV, doc="format of the files")
    custom_filename: bool = option(False, doc="accepted for older job files; file_name_expression is enough")
    file_name_expression: str = option(
        TRANSACTION,
        naming=Naming.FILE,
        min_length=1,
        doc="file name; ${transactionId}, ${now} and ${uuid} are replaced",
    )
    filename_time_format: PatternText = option("yyyy.MM.dd", doc="Java pattern of ${now}")
    filename_extension: ExtensionText | None = option(
        None, doc="extension of the files; default: that of the format. A codec's ending (.gz) is added"
    )
    is_enable_transaction: bool = option(True, doc="require ${transactionId} in the file name")
    batch_size: int = option(1_000_000, ge=1, doc="maximum number of rows per file")
    field_delimiter: DelimiterText | None = option(
        None, min_length=1, doc="delimiter between fields; default: \\u0001 for text, `,` for csv"
    )
    row_delimiter: DelimiterText = option("\n", min_length=1, doc="delimiter after each row")
    quote_char: DelimiterText | None = option('"', max_length=1, doc="character that quotes values (csv)")
    csv_string_quote_mode: QuoteMode = option(
        QuoteMode.MINIMAL, doc="which values to quote: those that need it, all texts, or none (csv)"
    )
    enable_header_write: bool | None = option(None, doc="write the columns' names first; default: only in excel")
    null_format: str | None = option(None, doc="text for null; default: an empty value")
    encoding: EncodingName = option("UTF-8", doc="character encoding (text, csv, json, xml)")
    have_partition: bool | None = option(
        None, doc="write into one directory per partition; default: if partition_by is given"
    )
    partition_by: tuple[str, ...] = option((), doc="columns whose values name the directory")
    partition_dir_expression: str | None = option(
        None, doc="directory of a partition; default: ${k0}=${v0}/${k1}=${v1}/…"
    )
    is_partition_field_write_in_file: bool = option(False, doc="write partition columns into the files as well")
    sink_columns: tuple[str, ...] = option((), doc="columns to write, in this order; default: all")
    compress_codec: CompressCodec = option(CompressCodec.NONE, doc="compression of the files")
    date_format: PatternText | None = option(None, doc="Java pattern of dates; default: yyyy-MM-dd")
    datetime_format: PatternText | None = option(
        None, doc="Java pattern of timestamps; default: yyyy-MM-dd HH:mm:ss, in json yyyy-MM-dd'T'HH:mm:ss"
    )
    time_format: PatternText | None = option(None, doc="Java pattern of times; default: HH:mm:ss")
    sheet_name: str | None = option(None, min_length=1, max_length=31, doc="name of the sheet (excel)")
    max_rows_in_memory: int | None = option(None, ge=1, doc="accepted; rows are never held in memory (excel)")
    sheet_max_rows: int = option(1_048_576, ge=2, le=1_048_576, doc="maximum number of rows per sheet and file (excel)")
    xml_root_tag: str = option("RECORDS", doc="outermost element (xml)")
    xml_row_tag: str = option("RECORD", doc="element of a row (xml)")
    xml_use_attr_format: bool | None = option(None, doc="write values as attributes of the row's element (xml)")
    parquet_avro_write_timestamp_as_int96: bool = option(False, doc="write timestamps as INT96 (parquet)")
    parquet_avro_write_fixed_as_int96: tuple[str, ...] = option((), doc="bytes columns to write as INT96 (parquet)")
    single_file_mode: bool = option(False, doc="write one file with exactly that name, when the job is finished")
    create_empty_file_when_no_data: bool | None = option(
        None,
        doc="write a file even without rows; default: if the format stores the columns (parquet, orc, excel, "
        "others with a header line) and there are no partitions",
    )
    schema_save_mode: SchemaSaveMode = option(
        SchemaSaveMode.CREATE_SCHEMA_WHEN_NOT_EXIST, doc="action for the directory at the start"
    )
    data_save_mode: DataSaveMode = option(
        DataSaveMode.APPEND_DATA,
        doc="what happens to files that are there already; CUSTOM_PROCESSING runs SQL, and is refused",
    )
    merge_update_event: bool = option(
        False,
        doc="change logs: write one message per update, with the row before it; other formats omit that row",
    )
    schema_evolution_enabled: bool = option(False, doc="accepted as false; a table keeps the columns of its start")

    @field_validator("data_save_mode")
    @classmethod
    def _mode_is_of_files(cls, mode: DataSaveMode) -> DataSaveMode:
        if mode is DataSaveMode.CUSTOM_PROCESSING:
            raise ValueError("CUSTOM_PROCESSING runs SQL before rows are written; files know DROP_DATA and APPEND_DATA")
        return mode

    @model_validator(mode="after")
    def _fits_together(self) -> FileWriteOptions:
        if self.is_enable_transaction and not self.single_file_mode and TRANSACTION not in self.file_name_expression:
            raise ValueError(f"file_name_expression must contain {TRANSACTION} when is_enable_transaction is true")
        codec, known = self.compress_codec, CODECS.get(self.file_format_type, frozenset(STREAM_CODECS))
        if codec is not CompressCodec.NONE and codec not in known:
            choices = ", ".join(sorted(known)) or "no compression"
            raise ValueError(f"{self.file_format_type} cannot be written with {codec}; it knows {choices}")
        if self.single_file_mode and self.file_format_type is WriteFormat.BINARY:
            raise ValueError("single_file_mode does not go with the format binary, which keeps its files' names")
        if self.filename_extension and self.file_format_type is WriteFormat.BINARY:
            raise ValueError("filename_extension does not go with the format binary, which keeps its files' names")
        if self.file_format_type in (WriteFormat.TEXT, WriteFormat.CSV):
            check_delimiters(self.marks, self.null_format)
        if self.schema_evolution_enabled:
            raise ValueError("schema_evolution_enabled is not supported: a table's columns are those of its start")
        if self.parquet_avro_write_fixed_as_int96:
            raise ValueError("parquet_avro_write_fixed_as_int96 is not supported; write the column as timestamp")
        return self

    @property
    def marks(self) -> dict[str, str | None]:
        """Marks that separate and quote the fields of text and csv, by option name."""
        is_csv = self.file_format_type is WriteFormat.CSV
        return {
            "field_delimiter": self.field_delimiter or ("," if is_csv else "\x01"),
            "row_delimiter": self.row_delimiter,
            "quote_char": self.quote_char if is_csv else None,
        }

    @property
    def leaves_empty_file(self) -> bool:
        """True if a table without rows still writes a file, so that readers find its columns."""
        if self.create_empty_file_when_no_data is not None:
            return self.create_empty_file_when_no_data
        columnar = self.file_format_type in (WriteFormat.PARQUET, WriteFormat.ORC)
        headed = self.file_format_type in (WriteFormat.CSV, WriteFormat.TEXT) and bool(self.enable_header_write)
        excel = self.file_format_type is WriteFormat.EXCEL and self.enable_header_write is not False
        return (columnar or headed or excel) and not self.partitions

    @property
    def partitions(self) -> tuple[str, ...]:
        """Columns whose values name directories."""
        return () if self.have_partition is False else self.partition_by


class LocalFileSinkOptions(SinkOptions, FileWriteOptions):
    """Options of the LocalFile sink."""

    rules = (required_when("xml_use_attr_format", other="file_format_type", equals=(WriteFormat.XML,)),)
