"""Parses table maps: the columns of the table whose rows follow, with the optional metadata of both servers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from seatunnel_connectors.mysql_cdc.failures import BinlogFormatError
from seatunnel_connectors.mysql_cdc.log.byte_reader import ByteReader
from seatunnel_connectors.mysql_cdc.log.column_types import CHARACTER, NUMERIC, BinlogType, ColumnStorage, read_storage

_SIGNEDNESS, _DEFAULT_CHARSET, _COLUMN_CHARSET, _NAMES, _SET_WORDS, _ENUM_WORDS = 1, 2, 3, 4, 5, 6
_KEY, _PREFIX_KEY, _ENUM_DEFAULT_CHARSET, _ENUM_CHARSET, _VISIBILITY = 8, 9, 10, 11, 12
COLUMNS_MAX = 4096
_WORDS = (BinlogType.ENUM, BinlogType.SET)


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """The log's own description of columns, an entry for each; empty without one.

    ``collations`` holds 0 for columns without one. ``key`` names the columns of the primary key by number.
    """

    unsigned: tuple[bool, ...] = ()
    collations: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    words: tuple[tuple[bytes, ...], ...] = ()
    key: tuple[int, ...] = ()
    visible: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class TableMap:
    """The table of a number, as it was when the rows after it were written. Without a header: one value serves all
    events of the same bytes, so that users may compare by identity."""

    table_id: int
    database: str
    table: str
    columns: tuple[ColumnStorage, ...]
    nullable: tuple[bool, ...]
    metadata: TableMetadata


def parse_table_map(reader: ByteReader, id_bytes: int, *, mariadb: bool) -> TableMap:
    table_id = reader.unsigned(id_bytes)
    reader.skip(2)
    database = reader.text(reader.u8())
    reader.skip(1)
    table = reader.text(reader.u8())
    reader.skip(1)
    reader.what = f"the table map of {database}.{table}"
    count = reader.lenenc()
    if not 0 < count <= COLUMNS_MAX:
        raise BinlogFormatError(f"{reader.what} has {count} columns")
    types = reader.take(count)
    own = ByteReader(reader.counted(), reader.what)
    columns = tuple(read_storage(one, own) for one in types)
    own.expect_end()
    nullable = _bits(reader.take((count + 7) // 8), count, high_first=False)
    metadata = _metadata(reader, columns, mariadb=mariadb) if reader.left else TableMetadata()
    return TableMap(table_id, database, table, columns, nullable, metadata)


def _bits(data: bytes, count: int, *, high_first: bool) -> tuple[bool, ...]:
    if len(data) * 8 < count:
        raise BinlogFormatError(f"a bitmap of {len(data)} bytes is too short for {count} columns")
    return tuple(bool(data[i >> 3] >> (7 - (i & 7) if high_first else i & 7) & 1) for i in range(count))


def _metadata(reader: ByteReader, columns: tuple[ColumnStorage, ...], *, mariadb: bool) -> TableMetadata:
    fields: dict[int, bytes] = {}
    while reader.left:
        code = reader.u8()
        if code in fields:
            raise BinlogFormatError(f"{reader.what} has the metadata {code} twice")
        fields[code] = reader.counted()

    def part(code: int) -> ByteReader:
        return ByteReader(fields[code], reader.what)

    unsigned: tuple[bool, ...] = ()
    if _SIGNEDNESS in fields:
        numeric = [i for i, one in enumerate(columns) if one.type in NUMERIC]
        bits = dict(zip(numeric, _bits(fields[_SIGNEDNESS], len(numeric), high_first=True), strict=True))
        unsigned = tuple(bits.get(i, False) for i in range(len(columns)))
    count = len(columns)
    names: tuple[str, ...] = ()
    if _NAMES in fields:
        named = part(_NAMES)
        names = tuple(_name(named) for _ in range(count))
        named.expect_end()
    return TableMetadata(
        unsigned,
        _collations(fields, part, columns, CHARACTER | {BinlogType.GEOMETRY} if mariadb else CHARACTER),
        names,
        _words(part, columns) if fields.keys() & {_SET_WORDS, _ENUM_WORDS} else (),
        _key(fields, part, count),
        _bits(fields[_VISIBILITY], count, high_first=True) if _VISIBILITY in fields else (),
    )


def _name(reader: ByteReader) -> str:
    return reader.text(reader.lenenc())


def _key(fields: dict[int, bytes], part: Callable[[int], ByteReader], count: int) -> tuple[int, ...]:
    found: list[int] = []
    if _KEY in fields:
        reader = part(_KEY)
        while reader.left:
            found.append(reader.lenenc())
    elif _PREFIX_KEY in fields:
        reader = part(_PREFIX_KEY)
        while reader.left:
            found.append(reader.lenenc())
            reader.lenenc()
    if any(one >= count for one in found):
        raise BinlogFormatError(f"the primary key of a table of {count} columns has column {max(found)}")
    return tuple(found)


def _collations(
    fields: dict[int, bytes],
    part: Callable[[int], ByteReader],
    columns: tuple[ColumnStorage, ...],
    character: frozenset[BinlogType],
) -> tuple[int, ...]:
    """Text columns first, among which MariaDB counts geometries; the words of ENUM and SET have fields of their
    own."""
    found = [0] * len(columns)
    texts = [i for i, one in enumerate(columns) if one.type in character]
    words = [i for i, one in enumerate(columns) if one.type in _WORDS]
    for places, default, each in ((texts, _DEFAULT_CHARSET, _COLUMN_CHARSET),
                                  (words, _ENUM_DEFAULT_CHARSET, _ENUM_CHARSET)):  # fmt: skip
        if default in fields:
            reader = part(default)
            common = reader.lenenc()
            others: dict[int, int] = {}
            while reader.left:
                column = reader.lenenc()
                others[column] = reader.lenenc()
            for number, place in enumerate(places):
                found[place] = others.pop(number, common)
            if others:
                raise BinlogFormatError(f"{reader.what} has character sets of columns that do not exist")
        elif each in fields:
            reader = part(each)
            for place in places:
                found[place] = reader.lenenc()
            reader.expect_end()
    return tuple(found) if any(found) else ()


def _words(part: Callable[[int], ByteReader], columns: tuple[ColumnStorage, ...]) -> tuple[tuple[bytes, ...], ...]:
    found: list[tuple[bytes, ...]] = [()] * len(columns)
    for kind, code in ((BinlogType.SET, _SET_WORDS), (BinlogType.ENUM, _ENUM_WORDS)):
        places = [i for i, one in enumerate(columns) if one.type is kind]
        if not places:
            continue
        try:
            reader = part(code)
        except KeyError:
            raise BinlogFormatError(f"the metadata holds no words for {len(places)} columns of {kind.name}") from None
        for place in places:
            found[place] = tuple(reader.counted() for _ in range(reader.lenenc()))
        reader.expect_end()
    return tuple(found)
