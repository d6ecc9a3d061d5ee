"""SeaTunnel's own files, read as its own job files say; what their Assert rules want is checked here."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from files_support import conformance, read, source

SCALARS = {
    "c_map": "map<string, string>",
    "c_array": "array<int>",
    "c_string": "string",
    "c_boolean": "boolean",
    "c_tinyint": "tinyint",
    "c_smallint": "smallint",
    "c_int": "int",
    "c_bigint": "bigint",
    "c_float": "float",
    "c_double": "double",
    "c_bytes": "bytes",
    "c_date": "date",
    "c_decimal": "decimal(38, 18)",
    "c_timestamp": "timestamp",
}
LOWER = {"fields": {**SCALARS, "c_row": SCALARS}}
UPPER = {"fields": {**SCALARS, "c_row": {name.upper(): kind for name, kind in SCALARS.items()}}}
EXCEL = {
    "file_format_type": "excel",
    "schema": LOWER,
    "field_delimiter": ";",
    "skip_header_row_number": 1,
}
XML_FIELDS = {
    "c_bytes": "tinyint",
    "c_short": "smallint",
    "c_int": "int",
    "c_bigint": "bigint",
    "c_string": "string",
    "c_double": "double",
    "c_float": "float",
    "c_decimal": "decimal(10, 2)",
    "c_boolean": "boolean",
    "c_map": "map<string, string>",
    "c_array": "array<string>",
    "c_date": "date",
    "c_datetime": "timestamp",
    "c_time": "time",
}
XML = {
    "file_format_type": "xml",
    "schema": {"fields": XML_FIELDS},
    "xml_row_tag": "RECORD",
    "xml_use_attr_format": True,
}

CASES: list[tuple[str, dict[str, Any], int]] = [
    ("text", {"file_format_type": "text", "schema": LOWER}, 5),
    ("text_time_format", {"file_format_type": "text", "schema": LOWER, "datetime_format": "yyyy-MM-dd'T'HH:mm:ss"}, 5),
    ("text_delimiter", {"file_format_type": "text", "schema": LOWER, "delimiter": "\\|"}, 5),
    ("text_delimiter", {"file_format_type": "text", "schema": LOWER, "field_delimiter": "|"}, 5),
    ("json", {"file_format_type": "json", "schema": UPPER}, 5),
    ("parquet", {"file_format_type": "parquet"}, 5),
    ("orc", {"file_format_type": "orc"}, 5),
    ("excel", EXCEL, 10),
    ("excel", {**EXCEL, "file_filter_pattern": r".*\.xls"}, 5),
    ("excel_filter", EXCEL, 5),
    ("xml", XML, 1),
    ("zip/txt/single", {"file_format_type": "text", "schema": LOWER, "archive_compress_codec": "zip"}, 5),
    ("zip/txt/multifile", {"file_format_type": "text", "schema": LOWER, "archive_compress_codec": "zip"}, 10),
    ("tar/txt/single", {"file_format_type": "text", "schema": LOWER, "archive_compress_codec": "tar"}, 5),
    ("tar/txt/multifile", {"file_format_type": "text", "schema": LOWER, "archive_compress_codec": "tar"}, 10),
    ("tar_gz/txt/single", {"file_format_type": "text", "schema": LOWER, "archive_compress_codec": "tar_gz"}, 5),
    ("tar_gz/txt/multifile", {"file_format_type": "text", "schema": LOWER, "archive_compress_codec": "tar_gz"}, 10),
    ("zip/json/single", {"file_format_type": "json", "schema": UPPER, "archive_compress_codec": "zip"}, 5),
    ("zip/json/multifile", {"file_format_type": "json", "schema": UPPER, "archive_compress_codec": "zip"}, 10),
    ("zip/excel/single", {**EXCEL, "archive_compress_codec": "zip"}, 5),
    ("zip/excel/multifile", {**EXCEL, "archive_compress_codec": "zip"}, 10),
    ("zip/xml/single", {**XML, "archive_compress_codec": "zip"}, 1),
]


@pytest.mark.parametrize(("place", "options", "count"), CASES)
def test_every_row_arrives_and_none_of_its_values_is_missing(place: str, options: dict[str, Any], count: int) -> None:
    schema, table = read(path=str(conformance("data", "read", place)), **options)

    assert table.num_rows == count
    assert not [name for name in table.column_names if table.column(name).null_count]
    partitioned = place in ("text", "json", "parquet", "orc", "excel", "excel_filter")
    assert (schema.names[-2:] == ("name", "hobby")) == partitioned
    if partitioned:
        assert set(table.column("name").to_pylist()) == {"tyrantlucifer"}
        assert set(table.column("hobby").to_pylist()) == {"coding"}


def test_values_of_a_text_row_are_the_ones_that_are_written() -> None:
    _, table = read(path=str(conformance("data", "read", "text")), file_format_type="text", schema=LOWER)
    row = table.to_pylist()[0]

    assert row["c_map"][0] == ("uDDrw", "sQQYO")
    assert row["c_array"][:2] == [545685759, 1576298739]
    assert row["c_decimal"] == Decimal("76258155390368615610.764625237318660291")
    assert row["c_row"]["c_map"][0] == ("ipToE", "dierO")
    assert row["c_row"]["c_bytes"] == b"kMlgO"


def test_an_escaped_delimiter_of_the_peer_is_that_delimiter() -> None:
    options = {"file_format_type": "text", "schema": LOWER, "read_columns": ["c_string", "c_boolean"]}
    path = str(conformance("data", "read", "text_delimiter"))
    escaped = read(path=path, delimiter="\\|", **options)[1]

    assert escaped.to_pylist() == [{"c_string": "qwer", "c_boolean": True}] * 5
    assert read(path=path, delimiter="|", **options)[1].equals(escaped)


def test_row_delimiters_are_unescaped_as_field_delimiters_are(tmp_path: Path) -> None:
    """SeaTunnel splits rows and fields by regular expressions; a lone backslash is itself."""
    schema = {"fields": {"a": "string", "b": "string"}}
    (tmp_path / "x.txt").write_text("1,2||3,4||")
    (tmp_path / "y.txt").write_text("1\\2\n3\\4\n")
    wanted = [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]
    options = {"file_format_type": "text", "schema": schema}

    bars = read(path=str(tmp_path / "x.txt"), field_delimiter=",", row_delimiter="\\|\\|", **options)[1]
    assert bars.to_pylist() == wanted
    backslash = read(path=str(tmp_path / "y.txt"), field_delimiter="\\", **options)[1]
    assert backslash.to_pylist() == wanted


@pytest.mark.parametrize(("kind", "schema"), [("text", LOWER), ("json", UPPER), ("parquet", None), ("orc", None)])
def test_a_projection_keeps_its_order_and_the_partition_columns(kind: str, schema: Any) -> None:
    options = {"schema": schema} if schema else {}
    found, table = read(
        path=str(conformance("data", "read", kind)),
        file_format_type=kind,
        read_columns=["c_double", "c_string", "c_boolean"],
        **options,
    )

    assert found.names == ("c_double", "c_string", "c_boolean", "name", "hobby")
    assert [column.null_count for column in table.columns] == [0] * 5


def test_gbk_text_and_json_are_read_in_their_encoding() -> None:
    names = [str(number) for number in range(16)]
    kinds = "map<string, string>|array<int>|array<string>|string|boolean|tinyint|smallint|int|bigint|float|double"
    kinds += "|decimal(30, 8)|null|bytes|date|timestamp"
    fields = dict(zip(names, kinds.split("|"), strict=True))
    encoding = conformance("data", "read", "encoding")
    text = read(path=str(encoding / "text"), file_format_type="text", encoding="gbk", schema={"fields": fields})[1]
    json = read(
        path=str(encoding / "json"),
        file_format_type="json",
        encoding="gbk",
        schema={"fields": {"c_map": "map<string, string>", "c_string": "string", "c_bytes": "bytes"}},
    )[1]

    assert text.column("3")[0].as_py() == json.column("c_string")[0].as_py() == "你好，世界ABC123!@#"
    assert text.column("13")[0].as_py().decode() == "你好世界ABCabc123!@#"
    assert json.column("c_map")[0].as_py() == [("a测试", "b测试")]
    assert json.column("c_bytes")[0].as_py().decode() == "你好世界ABCabc123!@#"


def test_two_tables_of_one_source_have_their_own_identity() -> None:
    path = str(conformance("data", "read", "parquet"))
    entries = [
        {"schema": {"table": name}, "path": path, "file_format_type": "parquet"} for name in ("fake01", "fake02")
    ]
    tables = source(tables_configs=entries, result_table_name="fake").tables()

    assert [str(table.schema.path) for table in tables] == ["fake01", "fake02"]


def test_declared_types_of_an_orc_file_are_cast_to() -> None:
    schema, table = read(
        path=str(conformance("data", "read", "orc_cast")),
        file_format_type="orc",
        schema={"fields": {"c_int": "bigint", "c_date": "string", "c_float": "double", "c_timestamp": "timestamp"}},
    )

    assert [str(column.dtype) for column in schema.columns] == ["bigint", "string", "double", "timestamp"]
    assert table.column("c_date")[0].as_py() == "2024-07-08"


def test_a_directory_without_files_is_an_empty_table(tmp_path: Any) -> None:
    for options in ({"file_format_type": "json", "schema": {}}, {"file_format_type": "parquet"}):
        assert read(path=str(tmp_path), **options)[1].num_rows == 0
