"""Values of every form through an encoder and back, drawn by hypothesis; and golden bytes."""

from __future__ import annotations

import contextlib
import json
import math
import string
import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatunnel_connectors.mysql_cdc.failures import BinlogFormatError
from seatunnel_connectors.mysql_cdc.log.byte_reader import ByteReader
from seatunnel_connectors.mysql_cdc.log.event_parser import EventParser
from seatunnel_connectors.mysql_cdc.log.events import RowsEvent
from seatunnel_connectors.mysql_cdc.log.table_map import TableMap, parse_table_map
from seatunnel_connectors.mysql_cdc.rows.json_binary import decimal_text, double_text, json_text, json_tree
from seatunnel_connectors.mysql_cdc.rows.table_decoder import RowImages, TableDecoder
from seatunnel_connectors.mysql_cdc.schema.definitions import ColumnDefinition, TableDefinition
from tests.connectors.mysql_cdc.encoder import (
    Column,
    Log,
    json_document,
    opaque,
    packed_decimal,
    packed_time,
    table_map_body,
)

WORDS = ("a", "b,", "ä")
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - as Arrow's times, without a zone
FIRST, LAST = EPOCH + timedelta(seconds=1), EPOCH + timedelta(days=24_855)
KINDS: list[tuple[Column, st.SearchStrategy[Any]]] = [
    *((Column(kind, b"", name), st.integers(-(1 << bits - 1), (1 << bits - 1) - 1))
      for kind, name, bits in ((1, "tinyint", 8), (2, "smallint", 16), (9, "mediumint", 24), (3, "int", 32), (8, "bigint", 64))),
    *((Column(kind, b"", f"{name} unsigned"), st.integers(0, (1 << bits) - 1))
      for kind, name, bits in ((1, "tinyint", 8), (2, "smallint", 16), (9, "mediumint", 24), (3, "int", 32), (8, "bigint", 64))),
    (Column(4, b"\4", "float"), st.floats(width=32, allow_nan=False, allow_infinity=False)),
    (Column(5, b"\x08", "double"), st.floats(allow_nan=False, allow_infinity=False)),
    (Column(13, b"", "year"), st.one_of(st.just(0), st.integers(1901, 2155))),
    (Column(10, b"", "date"), st.dates()),
    *((Column(18, bytes([digits]), f"datetime({digits})" if digits else "datetime"), st.datetimes().map(lambda one, d=digits: cut(one, d))) for digits in range(7)),
    *((Column(17, bytes([digits]), f"timestamp({digits})" if digits else "timestamp"),
       st.datetimes(FIRST, LAST).map(lambda one, d=digits: cut(one, d).replace(tzinfo=UTC))) for digits in range(7)),
    (Column(15, b"\xff\x00", "varchar(63)", "utf-8"), st.text(max_size=40)),
    (Column(15, b"\x00\x04", "varchar(256)", "utf-8"), st.text(max_size=200)),
    (Column(15, b"\x10\x00", "varbinary(16)"), st.binary(max_size=16)),
    (Column(254, b"\xfe\x1e", "char(10)", "cp1252"), st.text(string.ascii_letters + "äé€", max_size=10)),
    (Column(254, b"\xfe\x04", "binary(4)"), st.binary(min_size=4, max_size=4)),
    *((Column(252, bytes([size]), name, "utf-8"), st.text(max_size=60)) for size, name in enumerate(("tinytext", "text", "mediumtext", "longtext"), 1)),
    (Column(252, b"\3", "mediumblob"), st.binary(max_size=80)),
    (Column(16, b"\5\1", "bit(13)"), st.integers(0, (1 << 13) - 1)),
    (Column(16, b"\1\0", "bit(1)"), st.integers(0, 1)),
    (Column(254, b"\xf7\1", "enum"), st.integers(0, 3)),
    (Column(254, b"\xf7\2", "enum"), st.integers(0, 3)),
    (Column(254, b"\xf8\1", "set"), st.integers(0, 7)),
    (Column(242, b"\4", "vector"), st.lists(st.floats(width=32, allow_nan=False), max_size=4).map(lambda one: struct.pack(f"<{len(one)}f", *one))),
]  # fmt: skip


def cut(moment: datetime, digits: int) -> datetime:
    unit = 10 ** (6 - digits)
    return moment.replace(microsecond=moment.microsecond // unit * unit)


def definition(columns: list[Column]) -> TableDefinition:
    charsets = {"utf-8": "utf8mb4", "cp1252": "latin1"}
    return TableDefinition(
        "d", "t",
        tuple(
            ColumnDefinition(f"c{i}", one.declared.partition("(")[0].partition(" ")[0], one.declared, True,
                             charsets.get(one.charset, ""), WORDS if one.declared in ("enum", "set") else ())
            for i, one in enumerate(columns)
        ),
    )  # fmt: skip


def decoded(log: Log, columns: list[Column]) -> RowImages:
    parser = EventParser()
    events = [one for data in log.views() for one in parser.parse(parser.header(data), data)]
    [table_map] = [one for one in events if isinstance(one, TableMap)]
    found = TableDecoder(table_map, definition(columns)).decode([one for one in events if isinstance(one, RowsEvent)])
    found.data.validate(full=True)
    return found


def shown(column: Column, value: Any) -> Any:
    """The value as Arrow gives it back."""
    if value is None:
        return None
    if column.declared == "bit(1)":
        return bool(value)
    if column.kind == 16:
        return int(value).to_bytes(2, "big")
    if column.declared == "enum":
        return ("", *WORDS)[value]
    if column.declared == "set":
        return ",".join(word for i, word in enumerate(WORDS) if value >> i & 1)
    if column.declared == "bigint unsigned":
        return Decimal(value)
    if column.declared == "vector":
        return list(struct.unpack(f"<{len(value) // 4}f", value))
    return value


@settings(max_examples=50)
@given(st.data())
def test_rows_come_back(data: st.DataObject) -> None:
    """Any columns, any nulls, any split of rows among events, inserts and updates among each other."""
    chosen = data.draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=20))
    columns = [one for one, _ in chosen]
    row = st.tuples(*(st.one_of(st.none(), values) for _, values in chosen))
    log = Log()
    log.table(columns)
    wanted: list[tuple[Any, ...]] = []
    kinds: list[int] = []
    for _ in range(data.draw(st.integers(1, 40))):
        kind = data.draw(st.sampled_from((23, 24, 25)))
        images = data.draw(st.lists(row, min_size=1, max_size=3))
        images = images * 2 if kind == 24 else images
        log.rows(kind, columns, images)
        wanted += images
        kinds += [1, 2] * (len(images) // 2) if kind == 24 else [0 if kind == 23 else 3] * len(images)

    found = decoded(log, columns)

    assert not found.misfits
    assert [tuple(one.values()) for one in found.data.to_pylist()] == [
        tuple(shown(column, value) for column, value in zip(columns, one, strict=True)) for one in wanted
    ]
    assert found.kinds.to_pylist() == kinds


@given(st.integers(1, 65).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, min(p, 30)))), st.data())
def test_decimals_come_back(form: tuple[int, int], data: st.DataObject) -> None:
    precision, scale = form
    numbers = st.integers(-(10**precision) + 1, 10**precision - 1)
    values = [
        Decimal(one).scaleb(-scale, Context(prec=70)) for one in data.draw(st.lists(numbers, min_size=1, max_size=30))
    ]
    column = Column(246, bytes([precision, scale]), f"decimal({precision},{scale})")
    log = Log()
    log.table([column])
    log.rows(30, [column], [(one,) for one in values])

    assert decoded(log, [column]).data.column(0).to_pylist() == values
    for one in values:
        assert Decimal(decimal_text(packed_decimal(one, precision, scale), precision, scale)) == one


@given(st.integers(0, 6), st.lists(st.integers(-838 * 3600 * 10**6, 838 * 3600 * 10**6), min_size=1, max_size=30))
def test_times_come_back_or_are_named(digits: int, values: list[int]) -> None:
    unit = 10 ** (6 - digits)
    cuts = [abs(one) // unit * unit * (1 if one >= 0 else -1) for one in values]
    column = Column(19, bytes([digits]), f"time({digits})" if digits else "time")
    log = Log()
    log.table([column])
    log.rows(30, [column], [(one,) for one in cuts])

    found = decoded(log, [column])

    bad = {one.row: one.value.split(",")[0] for one in found.misfits}
    for row, (micros, cell) in enumerate(zip(cuts, found.data.column(0).to_pylist(), strict=True)):
        if 0 <= micros < 86_400 * 10**6:
            assert cell == (EPOCH + timedelta(microseconds=micros)).time()
        else:
            seconds, part = divmod(abs(micros), 10**6)
            text = f"{'-' if micros < 0 else ''}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
            assert (cell, bad[row]) == (None, text + (f".{part:06}"[: digits + 1] if digits else ""))


@pytest.mark.parametrize(
    ("micros", "digits", "bytes_"),
    [
        (0, 0, "800000"), (3_661_000_000, 0, "801041"), (-1_000_000, 0, "7fffff"), (-100_000, 1, "7ffffff6"),
        (517_000, 3, "8000001432"), (-517_000, 3, "7fffffebce"), (-1, 6, "7fffffffffff"),
    ],
)  # fmt: skip
def test_golden_times(micros: int, digits: int, bytes_: str) -> None:
    """F-C35: digits of three take two bytes, of a ten-thousandth each."""
    assert packed_time(micros, digits).hex() == bytes_


# ---------------------------------------------------------------- JSON

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(1 << 63), (1 << 64) - 1), st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=200), st.decimals(allow_nan=False, allow_infinity=False, places=5, min_value=-10**20, max_value=10**20),
)  # fmt: skip
documents = st.recursive(
    scalars, lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(max_size=20), inner)), max_leaves=30
)


def plain(value: Any) -> Any:
    return (
        float(value)
        if isinstance(value, Decimal)
        else {k: plain(v) for k, v in value.items()}
        if isinstance(value, dict)
        else [plain(v) for v in value]
        if isinstance(value, list)
        else value
    )


@given(documents)
def test_json_comes_back(document: Any) -> None:
    text = json_text(json_tree(json_document(document)))

    again = json.loads(text, parse_float=float)
    assert again == plain(document)
    assert ":  " not in text


def test_large_json() -> None:
    document = {"k" * 30 + str(i): ["x" * 100, i, 1 << 20] for i in range(1000)}
    assert json.loads(json_text(json_tree(json_document(document)))) == document


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"b": [1, "a\"\n\x01é/"], "aa": {}}, '{"b": [1, "a\\"\\n\\u0001é/"], "aa": {}}'),
        (Decimal("-12.50"), "-12.50"), (1.0, "1.0"), (0.1, "0.1"), (1e15, "1e15"), (1e14, "100000000000000.0"), (-1.5e-20, "-1.5e-20"),
        (0.0001, "0.0001"), (1e300, "1e300"), (None, "null"), ([], "[]"),
    ],
)  # fmt: skip
def test_json_is_spelled_as_the_server_does(document: Any, text: str) -> None:
    assert json_text(json_tree(json_document(document))) == text


def test_opaque_values_of_json() -> None:
    """Dates and times in JSON documents, and values of other types."""
    moment = (((2024 * 13 + 2) << 5 | 29) << 17 | 23 << 12 | 59 << 6 | 58) << 24 | 120
    for kind, number, text in (
        (12, moment, '"2024-02-29 23:59:58.000120"'), (7, moment, '"2024-02-29 23:59:58.000120"'), (10, moment, '"2024-02-29"'),
        (11, (30 << 12 | 1 << 6 | 2) << 24 | 5, '"30:01:02.000005"'), (11, -((1 << 12) << 24), '"-01:00:00.000000"'),
    ):  # fmt: skip
        code, data = opaque(kind, number.to_bytes(8, "little", signed=True))
        assert json_text(json_tree(bytes([code]) + data)) == text
    code, data = opaque(252, b"\0\1")
    assert json_text(json_tree(bytes([code]) + data)) == '"base64:type252:AAE="'
    assert json_text(json_tree(b"")) == "null"


@given(st.binary(max_size=80))
def test_damaged_json_is_refused_or_read(data: bytes) -> None:
    with contextlib.suppress(BinlogFormatError):
        json_text(json_tree(data))


def test_json_whose_values_share_bytes_is_refused() -> None:
    """A document of 60 bytes must not become gigabytes."""
    element = bytes([2]) + (0).to_bytes(2, "little")
    array = (15).to_bytes(2, "little") + (4 + 15 * 3).to_bytes(2, "little") + element * 15
    with pytest.raises(BinlogFormatError, match="overlap"):
        json_tree(bytes([2]) + array)


@pytest.mark.parametrize("number", [1.7976931348623157e308, 5e-324, 123456.789, 1 / 3])
def test_doubles_keep_their_value(number: float) -> None:
    assert math.isclose(float(double_text(number)), number, rel_tol=0)


# ---------------------------------------------------------------- metadata


def test_metadata_of_a_table_map() -> None:
    """Signs count numeric columns only, YEAR among them; MySQL's geometries have no character set."""
    columns = [Column(13, b"", "year"), Column(3, b"", "int"), Column(15, b"\x10\0", "v"), Column(255, b"\4", "geometry"),
               Column(15, b"\x10\0", "v"), Column(8, b"", "bigint"), Column(254, b"\xf7\1", "enum"), Column(254, b"\xf8\1", "set")]  # fmt: skip
    metadata = (
        b"\1\1\x20" + b"\2\3\x2d\1\x08" + b"\4\x18\2c0\2c1\2c2\2c3\2c4\2c5\2c6\2c7" + b"\5\5\2\1x\1y" + b"\6\3\1\1a" + b"\7\1\1"
        + b"\x08\2\1\5" + b"\x0b\2\x2d\x08" + b"\x0c\1\xfd"
    )  # fmt: skip
    body = table_map_body(columns, "t", 1, metadata)

    found = parse_table_map(ByteReader(body, "x"), 6, mariadb=False).metadata

    assert found.unsigned == (False, False, False, False, False, True, False, False)
    assert found.collations == (0, 0, 45, 0, 8, 0, 45, 8)
    assert found.names == tuple(f"c{i}" for i in range(8))
    assert found.words[6:] == ((b"a",), (b"x", b"y"))
    assert found.key == (1, 5)
    assert found.visible == (True, True, True, True, True, True, False, True)


def test_arrow_types_are_exact() -> None:
    log = Log()
    columns = [Column(8, b"", "bigint unsigned"), Column(246, b"\x41\x1e", "decimal(65,30)")]
    log.table(columns)
    log.rows(30, columns, [((1 << 64) - 1, Decimal("-" + "9" * 35 + "." + "9" * 30))])
    found = decoded(log, columns)
    assert found.data.schema.types == [pa.decimal128(20, 0), pa.decimal256(65, 30)]
    assert found.data.to_pylist() == [{"c0": Decimal((1 << 64) - 1), "c1": Decimal("-" + "9" * 35 + "." + "9" * 30)}]


def test_dates_of_the_whole_range() -> None:
    column = Column(10, b"", "date")
    days = [date(1, 1, 1), date(1582, 10, 10), date(2000, 2, 29), date(9999, 12, 31)]
    log = Log()
    log.table([column])
    log.rows(30, [column], [(one,) for one in days])
    assert decoded(log, [column]).data.column(0).to_pylist() == days
