"""Chooses how a column is decoded: by its form in the log, and its declared type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from seatunnel_connectors.jdbc.mysql.read.cells import RowCells
from seatunnel_connectors.mysql_cdc.failures import DefinitionMismatchError, UnsupportedColumnError
from seatunnel_connectors.mysql_cdc.log.column_types import BinlogType, ColumnStorage
from seatunnel_connectors.mysql_cdc.rows import numbers, special, temporal, texts, words
from seatunnel_connectors.mysql_cdc.rows.built import Build, Built, each
from seatunnel_connectors.mysql_cdc.rows.json_binary import json_text, json_tree
from seatunnel_connectors.mysql_cdc.schema.definitions import ColumnDefinition, DecodeOptions
from seatunnel_py.api import to_arrow

_INTEGERS = (BinlogType.TINY, BinlogType.SHORT, BinlogType.INT24, BinlogType.LONG, BinlogType.LONGLONG)
_BLOBS = ("tinyblob", "blob", "mediumblob", "longblob")
_TEXTS = ("tinytext", "text", "mediumtext", "longtext")
_SHAPES = ("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
           "geometrycollection", "geomcollection")  # fmt: skip
_SHORT = ("char", "binary", "uuid", "inet4", "inet6")
_DECLARED: dict[BinlogType, tuple[str, ...]] = {
    BinlogType.TINY: ("tinyint", "bool", "boolean"), BinlogType.SHORT: ("smallint",), BinlogType.INT24: ("mediumint",),
    BinlogType.LONG: ("int", "integer"), BinlogType.LONGLONG: ("bigint",), BinlogType.FLOAT: ("float",),
    BinlogType.DOUBLE: ("double", "real"), BinlogType.NEWDECIMAL: ("decimal", "numeric", "dec", "fixed"),
    BinlogType.DATE: ("date",), BinlogType.NEWDATE: ("date",), BinlogType.TIME: ("time",), BinlogType.TIME2: ("time",),
    BinlogType.DATETIME: ("datetime",), BinlogType.DATETIME2: ("datetime",), BinlogType.TIMESTAMP: ("timestamp",),
    BinlogType.TIMESTAMP2: ("timestamp",), BinlogType.YEAR: ("year",), BinlogType.BIT: ("bit",),
    BinlogType.VARCHAR: ("varchar", "varbinary"), BinlogType.VAR_STRING: ("varchar", "varbinary"),
    BinlogType.STRING: _SHORT, BinlogType.ENUM: ("enum",), BinlogType.SET: ("set",),
    BinlogType.BLOB: (*_BLOBS, *_TEXTS, "json"), BinlogType.TINY_BLOB: (*_BLOBS, *_TEXTS),
    BinlogType.MEDIUM_BLOB: (*_BLOBS, *_TEXTS), BinlogType.LONG_BLOB: (*_BLOBS, *_TEXTS),
    BinlogType.GEOMETRY: _SHAPES, BinlogType.JSON: ("json",), BinlogType.VECTOR: ("vector",),
    BinlogType.VARCHAR_COMPRESSED: ("varchar", "varbinary"), BinlogType.BLOB_COMPRESSED: (*_BLOBS, *_TEXTS),
}  # fmt: skip
_OLD_TEMPORAL = (BinlogType.TIME, BinlogType.DATETIME, BinlogType.TIMESTAMP)
_AS_TEXT: dict[str, Build] = {"uuid": special.uuids, "inet4": special.inet4, "inet6": special.inet6}


@dataclass(frozen=True, slots=True)
class ColumnReader:
    """A column of the log, and how its cells become an Arrow array of ``kind``."""

    name: str
    storage: ColumnStorage
    kind: pa.DataType
    build: Build


def column_reader(storage: ColumnStorage, column: ColumnDefinition, options: DecodeOptions, table: str) -> ColumnReader:
    """The reader of a column. Raises if its form in the log is not that of its declared type."""
    declared = column.data_type.lower()
    if declared not in _DECLARED.get(storage.type, ()):
        raise DefinitionMismatchError(
            f"column {column.name!r} of {table} is declared as {column.column_type}, and the log holds "
            f"{storage.type.name}",
            "the table was altered: its definition at this position of the log is needed",
        )
    if storage.type in _OLD_TEMPORAL and column.numbers[0]:
        raise UnsupportedColumnError(
            f"column {column.name!r} of {table} stores {column.column_type} in the format before MySQL 5.6, whose "
            "fractions the log does not describe",
            f"ALTER TABLE {table} FORCE with mysql56_temporal_format = ON, on the server",
        )
    if storage.type is BinlogType.NEWDECIMAL and column.numbers != (storage.first, storage.second):
        raise DefinitionMismatchError(
            f"column {column.name!r} of {table} is declared as {column.column_type}, and the log holds "
            f"decimal({storage.first},{storage.second})",
            "the table was altered: its definition at this position of the log is needed",
        )
    kind = to_arrow(column.as_column(options).dtype)
    return ColumnReader(column.name, storage, kind, _build(storage, column, kind, options))


def _build(storage: ColumnStorage, column: ColumnDefinition, kind: pa.DataType, options: DecodeOptions) -> Build:
    if storage.type in _INTEGERS:
        if pa.types.is_boolean(kind):
            return numbers.booleans
        return numbers.integers(storage, unsigned=column.unsigned, kind=kind)
    zero_is_null = options.zero_dates_are_null
    choices: dict[BinlogType, Callable[[], Build]] = {
        BinlogType.FLOAT: lambda: numbers.floats(storage),
        BinlogType.DOUBLE: lambda: numbers.floats(storage),
        BinlogType.NEWDECIMAL: lambda: numbers.decimals(storage, kind),
        BinlogType.YEAR: lambda: numbers.years,
        BinlogType.DATE: lambda: temporal.dates(zero_is_null=zero_is_null),
        BinlogType.NEWDATE: lambda: temporal.dates(zero_is_null=zero_is_null),
        BinlogType.TIME: lambda: temporal.times(storage),
        BinlogType.TIME2: lambda: temporal.times(storage),
        BinlogType.DATETIME: lambda: temporal.datetimes(storage, zero_is_null=zero_is_null),
        BinlogType.DATETIME2: lambda: temporal.datetimes(storage, zero_is_null=zero_is_null),
        BinlogType.TIMESTAMP: lambda: temporal.timestamps(storage, zero_is_null=zero_is_null),
        BinlogType.TIMESTAMP2: lambda: temporal.timestamps(storage, zero_is_null=zero_is_null),
        BinlogType.ENUM: lambda: words.enums(storage, column.words),
        BinlogType.SET: lambda: words.sets(storage, column.words),
        BinlogType.BIT: lambda: words.bits(storage, kind),
        BinlogType.JSON: lambda: _json,
        BinlogType.GEOMETRY: lambda: special.geometries,
        BinlogType.VECTOR: lambda: special.vectors(kind),
    }
    return choices.get(storage.type, lambda: _text(storage, column, kind))()


def _text(storage: ColumnStorage, column: ColumnDefinition, kind: pa.DataType) -> Build:
    declared = column.data_type.lower()
    if declared in _AS_TEXT:
        return _AS_TEXT[declared]
    text = pa.types.is_string(kind)
    # A binary large object that the job wants as text has no character set of its own.
    charset = ("utf8mb4" if column.charset in ("", "binary") else column.charset) if text else ""
    if storage.type in (BinlogType.VARCHAR_COMPRESSED, BinlogType.BLOB_COMPRESSED):
        return texts.compressed(charset)
    if not text:
        return texts.padded_bytes(column.numbers[0]) if declared == "binary" else texts.bytes_of
    try:
        return texts.texts(charset)
    except ValueError as error:
        raise UnsupportedColumnError(f"column {column.name!r}: {error}", "leave the table out") from None


def _json(cells: RowCells) -> Built:
    return each(cells, lambda value: json_text(json_tree(value)), pa.string())
