"""Maps formats to reader classes; modules are imported when a format is used."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from seatunnel_connectors.files.formats.base import FormatReader
from seatunnel_connectors.files.read.options import FileFormat, FileReadOptions

_PACKAGE = "seatunnel_connectors.files.formats"
_READERS = {
    FileFormat.TEXT: ("delimited", "DelimitedReader"),
    FileFormat.CSV: ("delimited", "DelimitedReader"),
    FileFormat.JSON: ("json_lines", "JsonReader"),
    FileFormat.PARQUET: ("columnar", "ParquetReader"),
    FileFormat.ORC: ("columnar", "OrcReader"),
    FileFormat.EXCEL: ("excel", "ExcelReader"),
    FileFormat.XML: ("xml", "XmlReader"),
    FileFormat.BINARY: ("binary", "BinaryReader"),
}


def reader_module(file_format: FileFormat) -> str:
    """Module of the class that reads a format."""
    return f"{_PACKAGE}.{_READERS[file_format][0]}"


def reader_class(file_format: FileFormat) -> type[FormatReader]:
    """Class that reads a format."""
    return cast("type[FormatReader]", getattr(import_module(reader_module(file_format)), _READERS[file_format][1]))


def reader_for(options: FileReadOptions) -> FormatReader:
    """Reader of the format in the options."""
    assert options.file_format_type is not None
    return reader_class(options.file_format_type)(options)
