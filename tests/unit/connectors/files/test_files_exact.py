"""Files hold every value that was written: each format, types nested to a depth of three, the values apt to break."""

from __future__ import annotations

import re
import sys
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
import xlsxwriter
from files_support import read, rows, sink, visible, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatunnel_connectors.files.formats.casts import cast
from seatunnel_py.api import (
    BadRowsError,
    Column,
    DataType,
    FatalError,
    Kind,
    TablePath,
    TableSchema,
    parse_type,
    to_arrow,
)

sys.path.insert(0, str(Path(__file__).parents[2] / "formats" / "value_text"))
from drawn_values import BYTES, SCALARS, columns, same

moment = datetime
"""A timestamp column has no zone."""

QUICK = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
FORMATS: dict[str, dict[str, Any]] = {
    "csv": {"null_format": "\\N"},
    "text": {"null_format": "\\N"},
    "json": {},
    "xml": {"null_format": "\\N", "xml_use_attr_format": False},
    "excel": {"null_format": "\\N"},
    "parquet": {},
    "orc": {},
}
REFUSED = ("null_format", "delimiter", "control character", "1677 to 2262", "UTF-8", "characters; a cell", "U+FEFF")
REFUSED += ("decimal", "U+FFF")
"""Words of the messages that name a value which a format cannot hold."""


def declared(dtype: DataType) -> dict[str, Any]:
    return {"columns": [{"name": "v", "type": str(dtype)}, {"name": "n", "type": "int"}]}


def round_trip(kind: str, dtype: DataType, array: pa.Array, **options: Any) -> pa.Array | None:
    """The column as it is read again; None: the sink refused a value by name."""
    schema = TableSchema(TablePath("", "", "t"), (Column("v", dtype), Column("n", DataType(Kind.INT))))
    data = pa.record_batch([array, pa.array(range(len(array)), pa.int32())], schema=schema.arrow())
    with TemporaryDirectory() as place:
        common = {"path": place, "file_format_type": kind, **options}
        try:
            write(schema, [data], **common)
        except ValueError as error:
            assert "ORC holds decimals of up to 38 digits" in str(error)
            return None
        except (BadRowsError, FatalError) as error:
            assert any(word in error.message for word in REFUSED), error
            return None
        reading = {"xml": {"xml_row_tag": "RECORD"}, "excel": {"skip_header_row_number": 1}}.get(kind, {})
        found = read(**common, schema=declared(dtype), **reading)[1]
        assert found.column("n").to_pylist() == [*range(len(array))]
        return found.column("v").combine_chunks()


@pytest.mark.parametrize("kind", FORMATS)
def test_every_value_comes_back(kind: str) -> None:
    @QUICK
    @given(columns(3, [*SCALARS, BYTES] if kind not in ("csv", "text") else SCALARS))
    def check(drawn: tuple[DataType, pa.Array]) -> None:
        dtype, array = drawn
        found = round_trip(kind, dtype, array, **FORMATS[kind])
        assert found is None or same(found, array)

    check()


@QUICK
@given(st.sampled_from(["||", ";;", "¦", "a|", ",,,", '"|']), columns(1, SCALARS))
def test_csv_delimiters_of_several_characters(delimiter: str, drawn: tuple[DataType, pa.Array]) -> None:
    """P3-F6: the first character counted, both ways."""
    dtype, array = drawn
    quote = "'" if '"' in delimiter else '"'
    found = round_trip("csv", dtype, array, field_delimiter=delimiter, null_format="\\N", quote_char=quote)
    assert found is None or same(found, array)


@QUICK
@given(columns(1, SCALARS))
def test_text_delimiters_of_several_characters(drawn: tuple[DataType, pa.Array]) -> None:
    """A value that ends with half a delimiter moved it."""
    dtype, array = drawn
    found = round_trip("text", dtype, array, field_delimiter="||", row_delimiter="\n", null_format="\\N")
    assert found is None or same(found, array)


@pytest.mark.parametrize("kind", ["csv", "text", "xml", "excel", "json"])
def test_an_instant_says_that_it_is_one(kind: str) -> None:
    dtype = parse_type("timestamp_tz")
    array = pa.array([1_706_700_000_123_000], pa.int64()).cast(to_arrow(dtype))
    found = round_trip(kind, dtype, array, **FORMATS[kind])
    assert found is not None and same(found, array)
    with pytest.raises(BadRowsError, match="is not a timestamp"):
        schema = TableSchema(TablePath("", "", "t"), (Column("v", dtype),))
        with TemporaryDirectory() as place:
            options = {"path": place, "file_format_type": kind, **FORMATS[kind]}
            write(schema, [pa.record_batch([array], schema=schema.arrow())], **options)
            reading = {"xml": {"xml_row_tag": "RECORD"}, "excel": {"skip_header_row_number": 1}}.get(kind, {})
            read(**options, schema={"fields": {"v": "timestamp"}}, **reading)


# ---------------------------------------------------------------- parquet and orc


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_an_instant_is_read_as_one_without_a_schema(kind: str, tmp_path: Path) -> None:
    """P3-A5: it came back as a timestamp, and a database lost the zone."""
    schema = TableSchema(TablePath("", "", "t"), (Column("at", parse_type("timestamp_tz")),))
    data = pa.record_batch([pa.array([0, 1], pa.int64()).cast(pa.timestamp("us", "UTC"))], schema=schema.arrow())
    write(schema, [data], path=str(tmp_path), file_format_type=kind)
    found, table = read(path=str(tmp_path), file_format_type=kind)
    assert found.columns[0].dtype == parse_type("timestamp_tz")
    assert table.column("at").combine_chunks().equals(data.column(0))


@pytest.mark.parametrize("year", [1, 1582, 2300, 9999])
def test_orc_refuses_years_that_its_readers_do_not_find(year: int, tmp_path: Path) -> None:
    """T18: it was written with success, and unreadable."""
    schema = TableSchema(TablePath("", "", "t"), (Column("at", parse_type("array<timestamp>")),))
    data = pa.record_batch(
        [pa.array([[moment(2024, 1, 1), moment(year, 1, 1)]], to_arrow(parse_type("array<timestamp>")))],
        schema=schema.arrow(),
    )
    with pytest.raises(BadRowsError, match=f"column 'at': {year:04}-01-01 .* is outside of the years 1677 to 2262"):
        write(schema, [data], path=str(tmp_path), file_format_type="orc")


@pytest.mark.parametrize("kind", ["parquet", "orc"])
@pytest.mark.parametrize("nested", [False, True])
def test_nanoseconds_are_kept_where_the_type_says_so(kind: str, nested: bool, tmp_path: Path) -> None:
    """T16: they were cut towards zero; in lists, rows and maps, too."""
    dtype = parse_type("{a = array<timestamp(9)>, m = map<string, timestamp_tz(9)>}" if nested else "timestamp(9)")
    value = {"a": [1, -1], "m": [("k", -1)]} if nested else -1
    array = pa.array([value], to_arrow(dtype))
    found = round_trip(kind, dtype, array)
    assert found is not None and same(found, array)


def test_a_value_finer_than_the_declared_type_is_refused(tmp_path: Path) -> None:
    """T16."""
    for number, kind in enumerate(
        [pa.timestamp("ns"), pa.list_(pa.timestamp("ns")), pa.map_(pa.string(), pa.timestamp("ns"))]
    ):
        value: Any = [-1, [-1], [("a", -1)]][number]
        pa.parquet.write_table(pa.table({"v": pa.array([value], kind)}), tmp_path / f"{number}.parquet")
        declared_as = ["timestamp", "array<timestamp>", "map<string, timestamp>"][number]
        with pytest.raises(FatalError, match="column 'v'.*would lose data"):
            read(
                path=str(tmp_path / f"{number}.parquet"),
                file_format_type="parquet",
                schema={"fields": {"v": declared_as}},
            )


def test_int96_keeps_every_year_and_refuses_nanoseconds(tmp_path: Path) -> None:
    """T16, T18: it is read in nanoseconds, which wrap around in the year 1, or in microseconds, which are cut."""
    years = pa.array([moment(1, 1, 1), moment(2024, 1, 1, 1, 2, 3, 4), None, moment(9999, 12, 31)], pa.timestamp("us"))
    pa.parquet.write_table(pa.table({"v": years}), tmp_path / "far.parquet", use_deprecated_int96_timestamps=True)
    found, table = read(path=str(tmp_path / "far.parquet"), file_format_type="parquet")
    assert found.columns[0].dtype == parse_type("timestamp")
    assert table.column("v").combine_chunks().equals(years)

    fine = pa.array([-1, 0, None], pa.timestamp("ns"))
    pa.parquet.write_table(pa.table({"v": fine}), tmp_path / "fine.parquet", use_deprecated_int96_timestamps=True)
    with pytest.raises(FatalError, match=r"column 'v': a value is finer than microseconds") as error:
        read(path=str(tmp_path / "fine.parquet"), file_format_type="parquet")
    assert "timestamp(9)" in error.value.remedy
    schema = {"fields": {"v": "timestamp(9)"}}
    table = read(path=str(tmp_path / "fine.parquet"), file_format_type="parquet", schema=schema)[1]
    assert table.column("v").combine_chunks().equals(fine)


def test_int96_is_not_written_for_years_that_wrap_around(tmp_path: Path) -> None:
    schema = TableSchema(TablePath("", "", "t"), (Column("at", parse_type("timestamp")),))
    data = pa.record_batch([pa.array([moment(1, 1, 1)], pa.timestamp("us"))], schema=schema.arrow())
    with pytest.raises(BadRowsError, match="which INT96 counts in"):
        options = {"path": str(tmp_path), "file_format_type": "parquet"}
        write(schema, [data], **options, parquet_avro_write_timestamp_as_int96=True)


@pytest.mark.parametrize(
    ("stored", "value", "as_declared"),
    [
        (pa.float64(), 0.1, "float"),
        (pa.float64(), 1e300, "float"),
        (pa.decimal128(38, 20), "0.12345678901234567890", "double"),
        (pa.int64(), 2**53 + 1, "double"),
        (pa.timestamp("us"), 1, "date"),
    ],
)
def test_a_declared_type_that_changes_values_is_refused(
    stored: Any, value: Any, as_declared: str, tmp_path: Path
) -> None:
    array = pa.array([value]).cast(stored) if isinstance(value, str) else pa.array([value], stored)
    pa.parquet.write_table(pa.table({"v": array}), tmp_path / "f.parquet")
    with pytest.raises(FatalError, match="does not fit"):
        read(path=str(tmp_path), file_format_type="parquet", schema={"fields": {"v": as_declared}})


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (pa.array(["0.0000000001"]).cast(pa.decimal128(20, 10)), "0.0000000001"),
        (pa.array([[1, None]]), "[1,null]"),
        (pa.array([2_932_897], pa.int32()).cast(pa.date32()), "+10000-01-01"),
        (pa.array([True]), "true"),
    ],
)
def test_any_column_may_be_declared_as_text(array: pa.Array, text: str, tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table({"v": array}), tmp_path / "f.parquet")
    assert rows(path=str(tmp_path), file_format_type="parquet", schema={"fields": {"v": "string"}}) == [{"v": text}]


def test_a_column_without_a_counterpart_is_named(tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table({"n": [1], "span": pa.array([1], pa.duration("us"))}), tmp_path / "f.parquet")
    with pytest.raises(FatalError, match=r"column 'span': the Arrow type duration\[us\]"):
        read(path=str(tmp_path), file_format_type="parquet")
    assert rows(path=str(tmp_path), file_format_type="parquet", read_columns=["n"]) == [{"n": 1}]


# ---------------------------------------------------------------- csv


def test_a_header_may_break_its_lines(tmp_path: Path) -> None:
    names = ["one\nline", 'say "x"', "a,b", "plain"]
    schema = TableSchema(TablePath("", "", "t"), tuple(Column(name, parse_type("int")) for name in names))
    data = pa.record_batch([pa.array([at], pa.int32()) for at in range(4)], schema=schema.arrow())
    write(schema, [data], path=str(tmp_path), file_format_type="csv", enable_header_write=True)
    found = rows(path=str(tmp_path), file_format_type="csv", csv_use_header_line=True)
    assert found == [{name: str(at) for at, name in enumerate(names)}]
    with pytest.raises(FatalError, match="would tear the header"):
        write(schema, [data], path=str(tmp_path), file_format_type="text", enable_header_write=True)


def test_a_header_whose_lines_end_with_cr(tmp_path: Path) -> None:
    """P3-A4: a message of the csv parser, and "its author has to mend it"."""
    (tmp_path / "f.csv").write_bytes(b"a,b\r1,2\r3,4\r")
    options = {"path": str(tmp_path), "file_format_type": "csv", "csv_use_header_line": True}
    with pytest.raises(FatalError, match="holds a carriage return") as error:
        rows(**options)
    assert 'row_delimiter = "\\r"' in error.value.remedy
    assert rows(**options, row_delimiter="\r") == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]


def test_text_refuses_line_breaks_of_every_kind(tmp_path: Path) -> None:
    schema = TableSchema(TablePath("", "", "t"), (Column("a", parse_type("string")),))
    for value in ("x\ry", "x\ny"):
        with pytest.raises(BadRowsError, match="would tear its row"):
            data = pa.record_batch([pa.array([value])], schema=schema.arrow())
            write(schema, [data], path=str(tmp_path), file_format_type="text", row_delimiter="\r\n")


def test_fractions_of_seconds_are_written(tmp_path: Path) -> None:
    """T3: 12:34:56.789123 became 12:34:56 by default."""
    schema = TableSchema(
        TablePath("", "", "t"), (Column("at", parse_type("timestamp")), Column("d", parse_type("date")))
    )
    data = pa.record_batch([[moment(2024, 1, 31, 12, 34, 56, 789_123)], [date(2024, 1, 31)]], schema=schema.arrow())
    write(schema, [data], path=str(tmp_path), file_format_type="csv")
    assert visible(tmp_path)[0].read_text() == "2024-01-31 12:34:56.789123,2024-01-31\n"


# ---------------------------------------------------------------- excel


def workbook(place: Path, fill: Any) -> dict[str, Any]:
    book = xlsxwriter.Workbook(place / "f.xlsx", {"default_date_format": "yyyy-mm-dd hh:mm:ss"})
    fill(book.add_worksheet("first"), book)
    book.close()
    return {"path": str(place), "file_format_type": "excel"}


def test_a_cell_that_holds_an_error_is_set_aside(tmp_path: Path) -> None:
    """T21: `#DIV/0!` became null."""

    def fill(sheet: Any, book: Any) -> None:
        sheet.write_number(2, 1, 1)  # the sheet begins below and to the right
        sheet.write_number(3, 1, 2)
        sheet.write_formula(3, 2, "=1/0", None, "#DIV/0!")

    options = {**workbook(tmp_path, fill), "schema": {"fields": {"a": "int", "b": "int"}}}
    with pytest.raises(BadRowsError, match=r"column 'b': the cell holds the error #DIV/0!"):
        rows(**options)


@pytest.mark.parametrize("number", [0.30000000000000004, sys.float_info.max, -0.0, 0.1, 123456789.125])
def test_excel_numbers_keep_all_of_their_digits(number: float) -> None:
    """T24: 0.3, and infinity."""
    found = round_trip("excel", DataType(Kind.DOUBLE), pa.array([number]))
    assert found is not None and found[0].as_py().hex() == number.hex()


@pytest.mark.parametrize(
    ("kind", "cell", "wanted"),
    [
        ("date", moment(2024, 1, 31, 23, 59, 59), "it has a time of day"),
        ("date", moment(2024, 1, 31), date(2024, 1, 31)),
        ("time", moment(2024, 1, 31, 12, 0), "it has a day"),
        ("timestamp", moment(1900, 2, 15), "before March 1900"),
        ("boolean", 1, True),
        ("boolean", 2, "is not a boolean"),
        ("decimal(10, 2)", 1.005, "3 digits after the point"),
        ("string", timedelta(days=1, hours=12), "PT129600S"),
    ],
)
def test_excel_cells_fit_their_columns_or_are_set_aside(kind: str, cell: Any, wanted: Any, tmp_path: Path) -> None:
    """T6, T13, T17."""

    def fill(sheet: Any, book: Any) -> None:
        form = {"num_format": "[h]:mm:ss"} if isinstance(cell, timedelta) else {"num_format": "yyyy-mm-dd hh:mm:ss"}
        write_cell = sheet.write_number if isinstance(cell, int | float) else sheet.write_datetime
        write_cell(0, 0, cell, *([] if isinstance(cell, int | float) else [book.add_format(form)]))

    options = {**workbook(tmp_path, fill), "schema": {"fields": {"v": kind}}}
    if isinstance(wanted, str) and not wanted.startswith("PT"):
        with pytest.raises(BadRowsError, match=wanted):
            rows(**options)
    else:
        assert rows(**options) == [{"v": wanted}]


@pytest.mark.parametrize("text", ["\ufffe", "a\uffffb"])
def test_excel_characters_that_no_workbook_keeps_are_refused(text: str) -> None:
    """They came back as `_xFFFF_`."""
    assert round_trip("excel", DataType(Kind.STRING), pa.array([text])) is None


# ---------------------------------------------------------------- json


def test_json_field_in_another_case_is_named(tmp_path: Path) -> None:
    """`A` for the column `a` was null without a word."""
    options = {"path": str(tmp_path), "file_format_type": "json", "schema": {"fields": {"a": "int", "b": "string"}}}
    for line in ('{"A":1,"b":"x"}', '{"a":1,"B":2}'):
        (tmp_path / "f.json").write_text('{"a":1,"b":"x"}\n' + line + "\n")
        with pytest.raises(BadRowsError, match=r"line 2: the column '.' is called '.' there"):
            rows(**options)
    (tmp_path / "f.json").write_text('{"a":1,"b":"x","A":7}\n')
    assert rows(**options) == [{"a": 1, "b": "x"}]


@pytest.mark.parametrize("other", ['"b":"a"', '"c":{"a":5}', '"c":[{"a":5}]', '"c":null,"b":"\\"a\\":"'])
def test_json_name_elsewhere_in_the_document_hides_no_field_in_another_case(other: str, tmp_path: Path) -> None:
    """The name as a value, or as a field of something else, counted as the column's own field: `A` was lost."""
    (tmp_path / "f.json").write_text('{"A":1,' + other + "}\n")
    with pytest.raises(BadRowsError, match="line 1: the column 'a' is called 'A' there"):
        rows(path=str(tmp_path), file_format_type="json", schema={"fields": {"a": "int", "b": "string"}})


def test_json_column_name_beyond_ascii_in_another_case_is_named(tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text('{"GRÖSSE":1}\n')
    with pytest.raises(BadRowsError, match="the column 'größe' is called 'GRÖSSE' there"):
        rows(path=str(tmp_path), file_format_type="json", schema={"fields": {"größe": "int"}})


def test_json_fields_that_are_no_columns_begin_in_a_later_block(tmp_path: Path) -> None:
    """They are left out from there on, and a name in another case is still found."""
    plain = '{"a":1,"b":"' + "x" * 1000 + '"}\n'
    path = tmp_path / "f.json"
    options = {"path": str(path), "file_format_type": "json", "schema": {"fields": {"a": "int", "b": "string"}}}
    path.write_text(plain * 5000 + '{"a":2,"b":"y","c":[1]}\n')
    assert [row["a"] for row in rows(**options)] == [1] * 5000 + [2]
    path.write_text(plain * 5000 + '{"c":[1],"b":"y"}\n' + plain * 5000 + '{"A":2,"b":"y"}\n')
    with pytest.raises(BadRowsError, match="line 10002: the column 'a' is called 'A' there"):
        rows(**options)


@pytest.mark.parametrize(
    ("kind", "document", "wanted"),
    [
        ("string", '{"v":1.10}', "1.10"),
        ("string", '{"v":1e400}', "1e400"),
        ("string", '{"v":{"k":[1.10,1e400,-0]}}', '{"k":[1.10,1e400,-0]}'),
        ("bigint", '{"v":9007199254740993.0}', 9007199254740993),
        ("number", '{"v":1.10}', "1.10"),
        ("number", '{"v":1e-3}', "0.001"),
        ("bytes", '{"v":[0,255,-1]}', b"\x00\xff\xff"),
        ("boolean", '{"v":"yes"}', True),
    ],
)
def test_json_numbers_keep_the_digits_of_the_document(kind: str, document: str, wanted: Any, tmp_path: Path) -> None:
    """T20, T35."""
    (tmp_path / "f.json").write_text(document + "\n")
    schema = {"fields": {"v": kind}}
    assert rows(path=str(tmp_path), file_format_type="json", schema=schema) == [{"v": wanted}]


@pytest.mark.parametrize(
    ("kind", "document", "why"),
    [
        ("double", '{"v":1e400}', "too large"),
        ("double", '{"v":1e-400}', "too small"),
        ("float", '{"v":1e39}', "too large"),
        ("float", '{"v":"1e39"}', "too large"),
        ("decimal(10, 2)", '{"v":1.005}', "3 digits after the point"),
        ("decimal(10, 2)", '{"v":1e-77}', "77 digits after the point"),
        ("bytes", '{"v":[256]}', "256 is not a byte"),
        ("bytes", '{"v":1e10}', "is not a bytes"),
        ("string", '{"v":"\\ud800"}', "half a character"),
        ("string", '{"v":{"k":1,"k":2}}', "occurs twice in one object"),
        ("map<int, int>", '{"v":{"1":1,"01":2}}', "two of its keys are the same"),
        ("date", '{"v":"2024-01-31 23:59:59"}', "it has a time of day"),
        ("timestamp", '{"v":"2024-01-31 23:59:59.1234567"}', "more than 6 digits"),
    ],
)
def test_json_values_that_would_change_are_set_aside(kind: str, document: str, why: str, tmp_path: Path) -> None:
    """T13, T16, T17, T19, T20, T35, and the surrogate that ended the table."""
    (tmp_path / "f.json").write_text('{"v":null}\n' + document + "\n")
    with pytest.raises(BadRowsError, match=f"line 2.*{why}"):
        rows(path=str(tmp_path), file_format_type="json", schema={"fields": {"v": kind}})


# ---------------------------------------------------------------- conversions


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"file_format_type": "parquet"}, []),
        ({"file_format_type": "json"}, []),
        ({"file_format_type": "csv", "null_format": "-"}, []),
        ({"file_format_type": "csv"}, [("s", "null and an empty text are written alike")]),
        ({"file_format_type": "orc"}, [("t", "times as ISO 8601 text")]),
        (
            {"file_format_type": "json", "datetime_format": "yyyy-MM-dd HH:mm:ss"},
            [("at", "drops: fraction of a second; .* without its zone")],
        ),
    ],
)
def test_columns_in_another_form_are_named(
    options: dict[str, Any], wanted: list[tuple[str, str]], tmp_path: Path
) -> None:
    fields = {"s": "string", "n": "int", "t": "array<time>", "at": "timestamp_tz"}
    table = TableSchema(TablePath("", "", "t"), tuple(Column(name, parse_type(kind)) for name, kind in fields.items()))
    found = sink(table, path=str(tmp_path / "x"), **options).plan_setup().conversions
    assert [one.column for one in found] == [name for name, _ in wanted]
    assert all(re.search(note, one.note) for one, (_, note) in zip(found, wanted, strict=True))


@pytest.mark.parametrize("value", [["\ufffe"], ["\uffff"]])
def test_characters_that_no_workbook_holds_are_refused_in_lists_too(value: list[str]) -> None:
    """They arrived as the text _xFFFE_."""
    dtype = parse_type("array<string>")
    assert round_trip("excel", dtype, pa.array([value], to_arrow(dtype)), null_format="\\N") is None


def test_numbers_of_16_bits_are_read_as_floats() -> None:
    """A parquet file of halves was refused: Arrow does not compare them."""
    halves = pa.array([0.5, None, 65504, -0.0], pa.float16())
    assert cast(halves, parse_type("float")).equals(pa.array([0.5, None, 65504, -0.0], pa.float32()))
    assert cast(halves, parse_type("double")).equals(pa.array([0.5, None, 65504, -0.0], pa.float64()))
