"""Parses a LocalFile address of the command line: a path, or ``file:///path``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath
from urllib.parse import unquote, urlsplit

from seatunnel_connectors.files.formats.registry import reader_class
from seatunnel_connectors.files.read.options import FileFormat
from seatunnel_py.api import Plain, Shorthand

_SUFFIXES = {
    "parquet": FileFormat.PARQUET, "orc": FileFormat.ORC, "csv": FileFormat.CSV, "json": FileFormat.JSON,
    "jsonl": FileFormat.JSON, "ndjson": FileFormat.JSON, "txt": FileFormat.TEXT, "xlsx": FileFormat.EXCEL,
    "xls": FileFormat.EXCEL, "xml": FileFormat.XML,
}  # fmt: skip


def reading(end: Shorthand) -> Mapping[str, Plain] | None:
    """Options of a source. Raises ValueError if the format is unknown, or needs a schema."""
    path = _path(end)
    if path is None:
        return None
    if end.tables or end.exclude or end.kinds:
        raise ValueError("files have no tables to choose from; give the path of the wanted files")
    known = [_SUFFIXES[suffix[1:].lower()] for suffix in PurePath(path).suffixes if suffix[1:].lower() in _SUFFIXES]
    chosen = _format(end.format) or next(iter(known), None)
    if chosen is None:
        if not Path(path).exists():
            raise ValueError(f"there is no file and no directory {path!r}")
        raise ValueError("the format of these files is not known from their name; give it with --format")
    if reader_class(chosen).needs_schema:
        raise ValueError(f"files of {chosen.value} need a schema, which only a job file can give")
    options: dict[str, Plain] = {"path": path, "file_format_type": chosen.value}
    return {**options, "csv_use_header_line": True} if chosen is FileFormat.CSV else options


def writing(end: Shorthand) -> Mapping[str, Plain] | None:
    """Options of a sink: a folder for each table."""
    path = _path(end)
    if path is None:
        return None
    chosen = _format(end.format) or FileFormat.PARQUET
    folder = f"{path.rstrip('/')}/{end.into or '${table_name}'}"
    options: dict[str, Plain] = {"path": folder, "file_format_type": chosen.value}
    if chosen is FileFormat.CSV:
        options["enable_header_write"] = True
    if end.replace or end.append:
        options["data_save_mode"] = "DROP_DATA" if end.replace else "APPEND_DATA"
    return options


def _path(end: Shorthand) -> str | None:
    if end.scheme == "file":
        return unquote(urlsplit(end.address).path)
    return None if end.scheme else end.address


def _format(text: str) -> FileFormat | None:
    if not text:
        return None
    try:
        return FileFormat(text.lower())
    except ValueError:
        raise ValueError(f"there is no format {text!r}; there are {', '.join(FileFormat)}") from None
