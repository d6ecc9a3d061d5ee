"""What was written is what is read back: every format, every type, and the awkward values of each."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from files_support import read, rows, visible, write

from seatunnel_py.api import Column, FatalError, TablePath, TableSchema, parse_type, to_arrow

moment = datetime
"""A timestamp column has no zone."""

VALUES: dict[str, tuple[str, list[Any]]] = {
    "c_string": ("string", ["plain", 'q"uo,te', "你好", None, "a b"]),
    "c_boolean": ("boolean", [True, False, None, True, False]),
    "c_tinyint": ("tinyint", [-128, 127, None, 0, 1]),
    "c_smallint": ("smallint", [-32768, 32767, None, 0, 1]),
    "c_int": ("int", [-(2**31), 2**31 - 1, None, 0, 1]),
    "c_bigint": ("bigint", [-(2**63), 2**63 - 1, None, 0, 2**53 + 1]),
    "c_float": ("float", [1.5, -2.25, None, 0.0, 3.0]),
    "c_double": ("double", [1e308, -1e-300, None, 0.1, math.inf]),
    "c_decimal": (
        "decimal(38, 18)",
        [Decimal("12345678901234567890.123456789012345678"), Decimal("-1E-18"), None, 0, 1],
    ),
    "c_bytes": ("bytes", [b"abc", "é".encode(), None, b"x", b"yz"]),
    "c_date": ("date", [date(2024, 2, 29), date(1969, 12, 31), None, date(1, 1, 1), date(9999, 12, 31)]),
    "c_time": ("time", [time(23, 59, 59), time(0, 0, 0), None, time(1, 2, 3), time(12, 0)]),
    "c_timestamp": (
        "timestamp",
        [moment(2024, 2, 29, 23, 59, 59), moment(1969, 12, 31, 1, 2, 3), None, *[moment(2000, 1, 1)] * 2],
    ),
    "c_array": ("array<int>", [[1, 2, None], [3], None, [4, 5], [6]]),
    "c_array_string": ("array<string>", [["a", "b"], ["c d"], None, ["你"], ["e"]]),
    "c_map": ("map<string, int>", [[("a", 1), ("b", None)], [("c", 3)], None, [("d", 4)], [("e", 5)]]),
    "c_row": (
        "{a = int, b = string, c = {d = array<double>}}",
        [
            {"a": 1, "b": "x", "c": {"d": [1.5, 2.5]}},
            {"a": None, "b": "y", "c": {"d": [3.0]}},
            None,
            {"a": 4, "b": "你", "c": {"d": [0.1]}},
            {"a": 5, "b": "z", "c": {"d": [1e300]}},
        ],
    ),
}
DECLARED = {"fields": {name: kind for name, (kind, _) in VALUES.items()}}
WIDTHS = {
    "text": {},
    "csv": {"enable_header_write": True},
    "json": {},
    "parquet": {},
    "orc": {},
    "excel": {},
    "xml": {"xml_use_attr_format": True},
}
READ: dict[str, dict[str, Any]] = {
    "csv": {"csv_use_header_line": True},
    "excel": {"skip_header_row_number": 1},
    "xml": {"xml_use_attr_format": True, "xml_row_tag": "RECORD"},
}


def table_of(columns: dict[str, tuple[str, list[Any]]]) -> tuple[TableSchema, pa.RecordBatch]:
    schema = TableSchema(
        TablePath("", "", "t"), tuple(Column(name, parse_type(kind)) for name, (kind, _) in columns.items())
    )
    arrays = [pa.array(values, to_arrow(parse_type(kind))) for kind, values in columns.values()]
    return schema, pa.RecordBatch.from_arrays(arrays, schema=schema.arrow())


ALL, DATA = table_of(VALUES)


@pytest.mark.parametrize("kind", WIDTHS)
def test_every_type_survives_every_format(kind: str, tmp_path: Path) -> None:
    write(ALL, [DATA], path=str(tmp_path), file_format_type=kind, **WIDTHS[kind])

    found = read(path=str(tmp_path), file_format_type=kind, schema=DECLARED, **READ.get(kind, {}))[1]
    assert found.to_pylist() == pa.Table.from_batches([DATA]).to_pylist()
    assert len(visible(tmp_path)) == 1


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_columnar_files_need_no_schema(kind: str, tmp_path: Path) -> None:
    write(ALL, [DATA], path=str(tmp_path), file_format_type=kind)

    found = rows(path=str(tmp_path), file_format_type=kind)
    wanted = pa.Table.from_batches([DATA]).to_pylist()
    if kind == "orc":  # which has no time of day
        wanted = [{**row, "c_time": row["c_time"] and str(row["c_time"])} for row in wanted]
    assert found == wanted


def test_xml_elements_hold_values_like_attributes(tmp_path: Path) -> None:
    write(ALL, [DATA], path=str(tmp_path), file_format_type="xml", xml_use_attr_format=False)

    options = {"xml_use_attr_format": False, "xml_row_tag": "RECORD"}
    assert rows(path=str(tmp_path), file_format_type="xml", schema=DECLARED, **options) == DATA.to_pylist()


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        ("MINIMAL", 'a,1\n"b,c",2\n,\n'),
        ("ALL", '"a",1\n"b,c",2\n,\n'),
    ],
)
def test_texts_of_csv_are_quoted_as_the_mode_says(tmp_path: Path, mode: str, wanted: str) -> None:
    """Only texts, and no null: it could not be told from an empty text."""
    schema = TableSchema(TablePath("", "", "t"), (Column("s", parse_type("string")), Column("i", parse_type("int"))))
    data = pa.record_batch([["a", "b,c", None], pa.array([1, 2, None], pa.int32())], schema=schema.arrow())
    write(schema, [data], path=str(tmp_path), file_format_type="csv", csv_string_quote_mode=mode)
    assert visible(tmp_path)[0].read_text() == wanted
    with pytest.raises(FatalError, match="holds the delimiter"):
        write(schema, [data], path=str(tmp_path), file_format_type="csv", csv_string_quote_mode="NONE")


def test_json_has_the_digits_of_a_second_that_there_are(tmp_path: Path) -> None:
    """As Java writes ISO times: no fraction without need, and no zeros behind it."""
    schema = TableSchema(TablePath("", "", "t"), (Column("at", parse_type("timestamp")),))
    moments = [moment(2024, 1, 2, 3, 4, 10), moment(2024, 1, 2, 3, 4, 5, 500_000), moment(2024, 1, 2, 3, 4, 5, 1)]
    write(schema, [pa.record_batch([moments], schema=schema.arrow())], path=str(tmp_path), file_format_type="json")

    wanted = ["03:04:10", "03:04:05.5", "03:04:05.000001"]
    assert visible(tmp_path)[0].read_text() == "".join(f'{{"at":"2024-01-02T{text}"}}\n' for text in wanted)


@pytest.mark.parametrize("kind", ["csv", "json", "xml", "excel", "parquet", "orc"])
def test_text_full_of_delimiters_survives(kind: str, tmp_path: Path) -> None:
    awkward = ["a,b", 'say "hi"', "two\nlines", "tab\t\\back", "<&>'", "trailing,", "\r\nx"]
    schema, data = table_of({"a": ("string", awkward), "b": ("string", awkward[::-1]), "n": ("int", [*range(7)])})
    write(schema, [data], path=str(tmp_path), file_format_type=kind, **WIDTHS[kind])

    declared = {"fields": {"a": "string", "b": "string", "n": "int"}}
    found = rows(path=str(tmp_path), file_format_type=kind, schema=declared, **READ.get(kind, {}))
    assert found == data.to_pylist()


def test_text_refuses_a_value_that_would_tear_its_row(tmp_path: Path) -> None:
    schema, data = table_of({"a": ("string", ["x|y"]), "b": ("string", ["z"])})

    with pytest.raises(FatalError, match=r"column 'a': a value holds the delimiter '\|'"):
        write(schema, [data], path=str(tmp_path), file_format_type="text", field_delimiter="|")


def test_a_null_format_tells_null_from_empty(tmp_path: Path) -> None:
    schema, data = table_of({"a": ("string", ["", None, " ", "\\N x"]), "n": ("int", [1, None, 3, 4])})
    for kind in ("text", "csv"):
        options = {"path": str(tmp_path / kind), "file_format_type": kind, "null_format": "\\N"}
        write(schema, [data], **options)

        assert rows(schema={"fields": {"a": "string", "n": "int"}}, **options) == data.to_pylist()


def test_one_column_of_nulls_and_empty_text_keeps_its_rows(tmp_path: Path) -> None:
    schema, data = table_of({"a": ("string", ["x", None, "", "y"])})
    for kind in ("text", "csv", "json"):
        options = {"path": str(tmp_path / kind), "file_format_type": kind}
        write(schema, [data], **options)

        found = [row["a"] or None for row in rows(schema={"fields": {"a": "string"}}, **options)]
        assert found == ["x", None, None, "y"]


@pytest.mark.parametrize(
    ("kind", "codec"),
    [(kind, codec) for kind in ("text", "csv", "json") for codec in ("gzip", "zstd", "bz2", "lz4", "lzo")]
    + [("parquet", codec) for codec in ("snappy", "lz4", "gzip", "brotli", "zstd")]
    + [("orc", codec) for codec in ("snappy", "lz4", "zlib", "zstd")],
)
def test_compressed_files_are_recognised_by_their_names(kind: str, codec: str, tmp_path: Path) -> None:
    write(ALL, [DATA], path=str(tmp_path), file_format_type=kind, compress_codec=codec)

    found = rows(path=str(tmp_path), file_format_type=kind, schema=DECLARED)
    assert found == DATA.to_pylist()


@pytest.mark.parametrize("encoding", ["GBK", "UTF-16", "UTF-16-LE", "GB18030", "Shift_JIS"])
@pytest.mark.parametrize("kind", ["text", "csv", "json", "xml"])
def test_other_encodings_are_written_and_read(kind: str, encoding: str, tmp_path: Path) -> None:
    schema, data = table_of({"a": ("string", ["日本", "x\\y", "表,示"]), "n": ("int", [1, 2, 3])})
    options = {"path": str(tmp_path), "file_format_type": kind, "encoding": encoding}
    write(schema, [data], **options, **({"xml_use_attr_format": True} if kind == "xml" else {}))

    extra = READ["xml"] if kind == "xml" else {}
    assert rows(schema={"fields": {"a": "string", "n": "int"}}, **options, **extra) == data.to_pylist()


def test_a_character_outside_the_encoding_is_named(tmp_path: Path) -> None:
    schema, data = table_of({"a": ("string", ["ok", "你"])})

    with pytest.raises(FatalError, match=r"'你' \(U\+4F60\) cannot be written in ISO-8859-1"):
        write(schema, [data], path=str(tmp_path), file_format_type="csv", encoding="ISO-8859-1")


@pytest.mark.parametrize("kind", ["text", "csv", "json"])
def test_java_patterns_of_dates_are_written_and_read(kind: str, tmp_path: Path) -> None:
    moments = [moment(2024, 2, 29, 23, 5, 7), None, moment(1999, 1, 2, 0, 0, 0)]
    schema, data = table_of(
        {
            "d": ("date", [date(2024, 2, 29), None, date(1999, 1, 2)]),
            "t": ("time", [time(23, 5, 7), None, time(0, 0)]),
            "ts": ("timestamp", moments),
        }
    )
    options = {
        "path": str(tmp_path),
        "file_format_type": kind,
        "date_format": "dd.MM.yyyy",
        "time_format": "HHmmss",
        "datetime_format": "yyyy/M/d H:mm:ss.SSS",
    }
    write(schema, [data], **options)

    text = visible(tmp_path)[0].read_text()
    assert "29.02.2024" in text and "230507" in text and "2024/2/29 23:05:07.000" in text
    assert rows(schema={"fields": {"d": "date", "t": "time", "ts": "timestamp"}}, **options) == data.to_pylist()


def test_json_keeps_fractions_of_seconds_and_numbers_that_are_none(tmp_path: Path) -> None:
    schema, data = table_of(
        {
            "ts": ("timestamp", [moment(2024, 1, 1, 1, 2, 3, 456), moment(2024, 1, 1)]),
            "tz": ("timestamp_tz", [moment(2024, 1, 1, 1, 2, 3).replace(tzinfo=UTC), None]),
            "x": ("double", [math.inf, 1.5]),
        }
    )
    write(schema, [data], path=str(tmp_path), file_format_type="json")
    declared = {"fields": {"ts": "timestamp", "tz": "timestamp_tz", "x": "double"}}

    assert visible(tmp_path)[0].read_text().splitlines()[1] == '{"ts":"2024-01-01T00:00:00","tz":null,"x":1.5}'
    assert rows(path=str(tmp_path), file_format_type="json", schema=declared) == data.to_pylist()


def test_binary_files_are_copied_byte_for_byte(tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    contents = {"a.bin": bytes(range(256)) * 41, "deep/b": b"x", "deep/c d.txt": b"hello\n" * 1000}
    for name, content in contents.items():
        (tmp_path / "in" / name).write_bytes(content)
    schema, table = read(path=str(tmp_path / "in"), file_format_type="binary", binary_chunk_size=1000)
    write(schema, table.to_batches(), path=str(tmp_path / "out"), file_format_type="binary")

    found = {str(f.relative_to(tmp_path / "out")): f.read_bytes() for f in visible(tmp_path / "out")}
    assert found == contents
