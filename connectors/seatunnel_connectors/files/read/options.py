"""Options of files to read in a job file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from itertools import combinations
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, model_validator

from seatunnel_py.api import (
    Options,
    SourceOptions,
    exactly_one,
    name_pattern,
    option,
    required_when,
    together,
)
from seatunnel_py.formats.schema_option import SchemaOptions
from seatunnel_py.formats.surplus_fields import SurplusFields


class FileFormat(StrEnum):
    TEXT = "text"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    ORC = "orc"
    EXCEL = "excel"
    XML = "xml"
    BINARY = "binary"


LINE_BREAKS = ("\n", "\r\n", "\r")
"""Line breaks: each of them ends a line if row_delimiter is one of the first two."""


class ArchiveCodec(StrEnum):
    NONE = "none"
    ZIP = "zip"
    TAR = "tar"
    TAR_GZ = "tar_gz"
    GZ = "gz"


class CompressCodec(StrEnum):
    NONE = "none"
    LZO = "lzo"
    GZIP = "gzip"
    ZSTD = "zstd"
    BZ2 = "bz2"
    LZ4 = "lz4"
    BROTLI = "brotli"
    SNAPPY = "snappy"
    ZLIB = "zlib"


class SyncMode(StrEnum):
    FULL = "full"
    UPDATE = "update"


class UpdateStrategy(StrEnum):
    """How to decide that the target's file differs from the source's."""

    DISTCP = "distcp"
    STRICT = "strict"


class CompareMode(StrEnum):
    LEN_MTIME = "len_mtime"
    CHECKSUM = "checksum"


class PostSync(StrEnum):
    """Action in SeaTunnel for a file that a continuous job has read."""

    NONE = "none"
    DELETE = "delete"
    BACKUP = "backup"


class DiscoveryMode(StrEnum):
    ONCE = "once"
    CONTINUOUS = "continuous"


def _pattern(text: str) -> str:
    from seatunnel_py.formats.value_text import compile_pattern  # only job files with a pattern pay for it

    return compile_pattern(text).text


def _moment(text: str) -> str:
    moment_ns(text)
    return text


@lru_cache(maxsize=16)  # a scan asks once per file
def moment_ns(text: str) -> int:
    """Nanoseconds since 1970 of ``yyyy-MM-dd HH:mm:ss`` in this machine's time zone."""
    try:
        moment = datetime.strptime(text.strip(), "%Y-%m-%d %H:%M:%S").astimezone()
    except ValueError:
        raise ValueError(f"{text!r} is not a time of the form yyyy-MM-dd HH:mm:ss") from None
    return int(moment.timestamp()) * 1_000_000_000


def _encoding(text: str) -> str:
    try:
        "".encode(text)
    except LookupError:
        raise ValueError(f"unknown encoding {text!r}") from None
    return text


def _regex(text: str) -> str:
    name_pattern(text)
    return text


def _text(value: Any) -> Any:
    r"""Parse a delimiter: escapes such as ``\t``, ``\x01`` and ``\u0001`` are allowed in plain text."""
    if not isinstance(value, str):
        return value
    found = re.fullmatch(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([tnr0]))", value)
    if not found:
        return value
    if found[3]:
        return {"t": "\t", "n": "\n", "r": "\r", "0": "\0"}[found[3]]
    return chr(int(found[1] or found[2], 16))


def _unescaped(value: Any) -> Any:
    """Unescape a delimiter: SeaTunnel reads delimiters as regular expressions, so job files escape ``|`` and ``.``."""
    text = _text(value)
    if isinstance(text, str) and len(text) > 1:
        return re.sub(r"\\([^\w\s])", r"\1", text)
    return text


def check_delimiters(marks: Mapping[str, str | None], null: str | None) -> None:
    """Raise ValueError for text or csv marks that a reader cannot distinguish. Keys are option names."""
    given = {name: text for name, text in marks.items() if text}
    for (one, text), (other, second) in combinations(given.items(), 2):
        if (text in second or second in text) and {one, other} != {"quote_char", "escape_char"}:
            raise ValueError(f"{one} = {text!r} and {other} = {second!r} cannot be distinguished")
    row = given["row_delimiter"]
    if row in LINE_BREAKS and any(mark in given["field_delimiter"] for mark in LINE_BREAKS):
        raise ValueError(f"field_delimiter = {given['field_delimiter']!r} holds a line break, which ends rows")
    for name, text in given.items():
        if null and text in null:
            raise ValueError(f"null_format = {null!r} holds the {name}, which would tear rows")


PatternText = Annotated[str, AfterValidator(_pattern)]
EncodingName = Annotated[str, AfterValidator(_encoding)]
MomentText = Annotated[str, AfterValidator(_moment)]
RegexText = Annotated[str, AfterValidator(_regex)]
DelimiterText = Annotated[str, BeforeValidator(_text)]
ReadDelimiterText = Annotated[str, BeforeValidator(_unescaped)]


_CONTINUOUS_ONLY = "accepted; means something with discovery_mode = continuous only, which is refused"


class FileReadOptions(Options):
    """Options of one table read from files; the same for every kind of storage."""

    path: str | None = option(None, doc="file to read, or a directory to read with everything below it")
    file_format_type: FileFormat | None = option(None, doc="format of the files")
    declared: SchemaOptions | None = option(
        None, key="schema", doc="columns of the files; required for json, excel and xml"
    )
    read_columns: tuple[str, ...] = option((), doc="columns to read, in this order; default: all")
    field_delimiter: ReadDelimiterText | None = option(
        None,
        fallback=("delimiter",),
        min_length=1,
        doc="delimiter between fields; default: \\u0001 for text, `,` for csv",
    )
    row_delimiter: ReadDelimiterText = option("\n", min_length=1, doc="delimiter between rows (text, csv, json)")
    quote_char: DelimiterText | None = option(
        '"', max_length=1, doc="character that quotes values (csv); empty: no quoting"
    )
    escape_char: DelimiterText | None = option(None, max_length=1, doc="character that escapes another one (csv)")
    skip_header_row_number: int = option(0, ge=0, doc="number of lines to skip at the beginning of each file")
    csv_use_header_line: bool = option(False, doc="the first line contains the columns' names (csv)")
    parse_partition_from_path: bool = option(True, doc="add a column k at the end for each `k=v` in a path")
    read_partitions: tuple[str, ...] = option((), doc="read only paths that contain one of these texts")
    date_format: PatternText | None = option(None, doc="Java pattern of dates; default: yyyy-MM-dd and similar forms")
    datetime_format: PatternText | None = option(
        None, doc="Java pattern of timestamps; default: yyyy-MM-dd HH:mm:ss and similar forms"
    )
    time_format: PatternText | None = option(None, doc="Java pattern of times; default: HH:mm:ss")
    file_filter_pattern: RegexText | None = option(
        None, doc="Java regular expression for the whole file name, or for the whole path if it has a slash"
    )
    file_filter_modified_start: MomentText | None = option(
        None, doc="read only files changed at or after this time: yyyy-MM-dd HH:mm:ss in this machine's time zone"
    )
    file_filter_modified_end: MomentText | None = option(
        None, doc="read only files changed before this time: yyyy-MM-dd HH:mm:ss in this machine's time zone"
    )
    filename_extension: str | None = option(None, doc="read only files whose name ends with this text")
    recursive_file_scan: bool = option(True, doc="also read files in subdirectories")
    sort_files_by_modification_time: bool = option(False, doc="read the newest file first; default: in order of names")
    compress_codec: CompressCodec = option(
        CompressCodec.NONE, doc="compression of the files; none: detected from .gz, .bz2, .zst, .lz4, .lzo"
    )
    archive_compress_codec: ArchiveCodec = option(ArchiveCodec.NONE, doc="archive format of the files")
    encoding: EncodingName = option("UTF-8", doc="character encoding (text, csv, json, xml)")
    null_format: str | None = option(None, doc="text that means null; default: an empty value")
    surplus_fields: SurplusFields = option(
        SurplusFields.REFUSE,
        doc="action for a row with more fields than columns: refuse, or drop the surplus (text, csv)",
    )
    sheet_name: str | None = option(None, doc="sheet to read; default: the first (excel)")
    excel_engine: str = option("POI", doc="accepted for older job files; there is one engine")
    xml_row_tag: str | None = option(None, doc="element of a row (xml)")
    xml_use_attr_format: bool | None = option(None, doc="values are attributes of the row's element (xml)")
    binary_chunk_size: int = option(1024, ge=1, doc="bytes per row (binary)")
    binary_complete_file_mode: bool = option(False, doc="one row per file (binary)")
    enable_file_split: bool | None = option(
        None, doc="divide big files into parts; default: for text, json, and csv if its quotes allow it"
    )
    file_split_size: int = option(128 * 1024 * 1024, ge=1, doc="size of a part in bytes")
    sync_mode: SyncMode = option(
        SyncMode.FULL, doc="update: skip files that target_path already has unchanged (binary)"
    )
    target_path: str | None = option(None, doc="the sink's path, for comparison in sync_mode = update")
    update_strategy: UpdateStrategy = option(
        UpdateStrategy.DISTCP,
        doc="distcp: skip a file of equal size in the target that is not older; strict: only one of equal size "
        "and time",
    )
    compare_mode: CompareMode = option(
        CompareMode.LEN_MTIME, doc="checksum: strict compares sizes and contents instead of times"
    )
    update_compare_parallelism: int = option(8, ge=1, le=64, doc="accepted; files are compared while they are listed")
    update_compare_bulk_threshold: int = option(0, ge=0, doc="accepted; files are compared while they are listed")
    discovery_mode: DiscoveryMode = option(DiscoveryMode.ONCE, doc="once: read only files that exist at the start")
    scan_interval: str | None = option(None, doc=_CONTINUOUS_ONLY)
    start_mode: str | None = option(None, doc=_CONTINUOUS_ONLY)
    post_sync_action: PostSync = option(PostSync.NONE, doc=_CONTINUOUS_ONLY)
    backup_path: str | None = option(None, doc=_CONTINUOUS_ONLY)
    retention_max_age: str | None = option(None, doc=_CONTINUOUS_ONLY)
    retention_check_interval: str | None = option(None, doc=_CONTINUOUS_ONLY)

    @model_validator(mode="after")
    def _modes_fit_together(self) -> FileReadOptions:
        if self.discovery_mode is DiscoveryMode.CONTINUOUS:
            raise ValueError(
                "discovery_mode = continuous is not supported: run the job again from a timer; "
                "with sync_mode = update it reads only what is new"
            )
        if self.post_sync_action is not PostSync.NONE:
            raise ValueError(f"post_sync_action = {self.post_sync_action} goes with discovery_mode = continuous only")
        if self.sync_mode is SyncMode.UPDATE and self.file_format_type is not FileFormat.BINARY:
            raise ValueError(f"sync_mode = update compares whole files: only with the format {FileFormat.BINARY}")
        if self.compare_mode is CompareMode.CHECKSUM and self.update_strategy is not UpdateStrategy.STRICT:
            raise ValueError("compare_mode = checksum needs update_strategy = strict")
        if self.file_format_type in (FileFormat.TEXT, FileFormat.CSV):
            check_delimiters(self.marks, self.null_format)
        return self

    @property
    def marks(self) -> dict[str, str | None]:
        """Marks that separate and quote the fields of text and csv, by option name."""
        is_csv = self.file_format_type is FileFormat.CSV
        return {
            "field_delimiter": self.field_delimiter or ("," if is_csv else "\x01"),
            "row_delimiter": self.row_delimiter,
            "quote_char": self.quote_char if is_csv else None,
            "escape_char": self.escape_char if is_csv else None,
        }


_TABLE_RULES = (
    required_when("xml_row_tag", other="file_format_type", equals=(FileFormat.XML,)),
    required_when("xml_use_attr_format", other="file_format_type", equals=(FileFormat.XML,)),
    required_when("target_path", other="sync_mode", equals=(SyncMode.UPDATE,)),
)


class FileTableOptions(FileReadOptions):
    """One entry of ``tables_configs``."""

    path: str = option(doc="file to read, or a directory to read with everything below it")
    file_format_type: FileFormat = option(doc="format of the files")

    rules = _TABLE_RULES


class LocalFileSourceOptions(SourceOptions, FileReadOptions):
    """Options of the LocalFile source: one table, or ``tables_configs``."""

    tables_configs: tuple[FileTableOptions, ...] = option((), doc="tables to read, each with path, format and schema")

    rules = (
        exactly_one("path", "tables_configs"),
        together("path", "file_format_type"),
        *_TABLE_RULES,
    )

    def table_options(self) -> tuple[FileReadOptions, ...]:
        """Options of each table."""
        return self.tables_configs or (self,)
