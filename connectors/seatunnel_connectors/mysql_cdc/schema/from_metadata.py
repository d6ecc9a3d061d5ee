"""Makes a definition from a table map with full metadata: the log then describes itself.

The metadata does not hold the display width of integers, so TINYINT(1) is a number; nor that a text of MariaDB is JSON,
or that sixteen bytes are a uuid. Definitions from the catalog hold all of that.
"""

from __future__ import annotations

from seatunnel_connectors.mysql_cdc.failures import UnsupportedColumnError
from seatunnel_connectors.mysql_cdc.log.charsets import BINARY, CODECS, charset_of_collation
from seatunnel_connectors.mysql_cdc.log.column_types import BinlogType, ColumnStorage
from seatunnel_connectors.mysql_cdc.log.table_map import TableMap
from seatunnel_connectors.mysql_cdc.rows.texts import decoder
from seatunnel_connectors.mysql_cdc.schema.definitions import ColumnDefinition, TableDefinition

_NAMES = {
    BinlogType.TINY: "tinyint", BinlogType.SHORT: "smallint", BinlogType.INT24: "mediumint", BinlogType.LONG: "int",
    BinlogType.LONGLONG: "bigint", BinlogType.FLOAT: "float", BinlogType.DOUBLE: "double", BinlogType.DATE: "date",
    BinlogType.NEWDATE: "date", BinlogType.YEAR: "year", BinlogType.JSON: "json", BinlogType.GEOMETRY: "geometry",
    BinlogType.VECTOR: "vector", BinlogType.TIME: "time", BinlogType.DATETIME: "datetime",
    BinlogType.TIMESTAMP: "timestamp",
}  # fmt: skip
_WITH_FRACTION = {BinlogType.TIME2: "time", BinlogType.DATETIME2: "datetime", BinlogType.TIMESTAMP2: "timestamp"}
_NUMERIC = ("tinyint", "smallint", "mediumint", "int", "bigint", "float", "double", "decimal")
_VARCHARS = (BinlogType.VARCHAR, BinlogType.VAR_STRING, BinlogType.VARCHAR_COMPRESSED)
_WIDTHS = {"utf8mb4": 4, "utf8mb3": 3, "ucs2": 2, "utf16": 4, "utf16le": 4, "utf32": 4, "gb18030": 4, "ujis": 3,
           "eucjpms": 3, "sjis": 2, "cp932": 2, "gbk": 2, "gb2312": 2, "big5": 2, "euckr": 2}  # fmt: skip


def describes_itself(table_map: TableMap) -> bool:
    """True if the log holds names, signs and character sets (``binlog_row_metadata = FULL``)."""
    return bool(table_map.metadata.names)


def definition_of(table_map: TableMap) -> TableDefinition:
    """The definition. Needs full metadata."""
    metadata = table_map.metadata
    columns = tuple(_column(table_map, number) for number in range(len(table_map.columns)))
    key = tuple(metadata.names[number] for number in metadata.key)
    return TableDefinition(table_map.database, table_map.table, columns, key)


def _column(table_map: TableMap, number: int) -> ColumnDefinition:
    metadata, storage = table_map.metadata, table_map.columns[number]
    name = metadata.names[number]
    collation = metadata.collations[number] if metadata.collations else 0
    charset = charset_of_collation(collation) if collation else ""
    if collation and not charset:
        raise UnsupportedColumnError(
            f"column {name!r} of {table_map.database}.{table_map.table} has the unknown collation {collation}",
            "use a release that knows the server's version",
        )
    words: tuple[str, ...] = ()
    if storage.type in (BinlogType.ENUM, BinlogType.SET):
        decode = decoder(charset if charset in CODECS else "utf8mb4")
        words = tuple(decode(one) for one in metadata.words[number])
    data_type, full = _type(storage, charset, words)
    if metadata.unsigned and metadata.unsigned[number] and data_type in _NUMERIC:
        full += " unsigned"
    visible = metadata.visible[number] if metadata.visible else True
    text = "" if charset == BINARY else charset
    return ColumnDefinition(name, data_type, full, table_map.nullable[number], text, words, not visible)


def _type(storage: ColumnStorage, charset: str, words: tuple[str, ...]) -> tuple[str, str]:
    kind = storage.type
    if kind in _NAMES:
        return _NAMES[kind], _NAMES[kind]
    if kind in _WITH_FRACTION:
        return _WITH_FRACTION[kind], f"{_WITH_FRACTION[kind]}({storage.first})"
    if kind is BinlogType.NEWDECIMAL:
        return "decimal", f"decimal({storage.first},{storage.second})"
    if kind is BinlogType.BIT:
        return "bit", f"bit({storage.first})"
    if kind in (BinlogType.ENUM, BinlogType.SET):
        name = kind.name.lower()
        shown = ",".join("'" + word.replace("'", "''") + "'" for word in words)
        return name, f"{name}({shown})"
    binary = charset in ("", BINARY)
    longest = storage.first - (kind is BinlogType.VARCHAR_COMPRESSED)  # its byte of marks counts
    characters = longest // (1 if binary else _WIDTHS.get(charset, 1))
    if kind in _VARCHARS:
        name = "varbinary" if binary else "varchar"
        return name, f"{name}({characters})"
    if kind is BinlogType.STRING:
        name = "binary" if binary else "char"
        return name, f"{name}({characters})"
    size = ("tiny", "", "medium", "long")[storage.length_bytes - 1]
    name = f"{size}{'blob' if binary else 'text'}"
    return name, name
