"""Delimiters, quotes and encodings of text formats: values that hold them arrive whole, or are refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from files_support import rows, sink, source, write
from pydantic import ValidationError

from seatunnel_py.api import BadRowsError, Column, DataType, Kind, TablePath, TableSchema

TEXTS = TableSchema(TablePath("", "", "t"), (Column("a", DataType(Kind.STRING)), Column("b", DataType(Kind.STRING))))
TEXT = TableSchema(TablePath("", "", "t"), TEXTS.columns[:1])
MARKS = ["a|b", "a\rb", "a\nb", "a\r\nb", 'a"b', "a,b", "|", "\r", "\n", "a\x1fb"]


@pytest.mark.parametrize("end", ["|", "\r", "||", ";\n"])
def test_csv_values_keep_a_row_delimiter_that_is_no_line_break(end: str, tmp_path: Path) -> None:
    """A delimiter between quotes was left out of the value."""
    data = pa.RecordBatch.from_arrays([pa.array(MARKS), pa.array([f"{end}{mark}{end}" for mark in MARKS])], ["a", "b"])
    options = {"path": str(tmp_path), "file_format_type": "csv", "row_delimiter": end}
    write(TEXTS, [data], **options)

    assert rows(**options, schema={"fields": {"a": "string", "b": "string"}}) == data.to_pylist()


def test_a_json_document_that_holds_the_row_delimiter_is_refused(tmp_path: Path) -> None:
    data = pa.RecordBatch.from_arrays([pa.array(["a|b"])], ["a"])
    with pytest.raises(BadRowsError, match="holds the delimiter"):
        write(TEXT, [data], path=str(tmp_path), file_format_type="json", row_delimiter="|")


@pytest.mark.parametrize("kind", ["csv", "text", "json", "xml"])
def test_a_character_that_the_encoding_lacks_is_a_bad_row(kind: str, tmp_path: Path) -> None:
    """It failed the table, also where the job allows bad rows."""
    xml = {"xml_use_attr_format": False} if kind == "xml" else {}
    data = pa.RecordBatch.from_arrays([pa.array(["x", "10 €"])], ["a"])
    with pytest.raises(BadRowsError, match=r"column 'a': the character '€' \(U\+20AC\) cannot be written in latin-1"):
        write(TEXT, [data], path=str(tmp_path), file_format_type=kind, encoding="latin-1", **xml)


@pytest.mark.parametrize(
    ("marks", "why"),
    [
        ({"field_delimiter": "\n"}, "cannot be distinguished"),
        ({"field_delimiter": "\r"}, "holds a line break"),
        ({"field_delimiter": '"'}, "cannot be distinguished"),
        ({"field_delimiter": "|", "row_delimiter": "||"}, "cannot be distinguished"),
        ({"row_delimiter": '"\n'}, "cannot be distinguished"),
        ({"null_format": "a,b"}, "holds the field_delimiter"),
        ({"null_format": '"'}, "holds the quote_char"),
    ],
)
def test_marks_that_cannot_be_told_apart_are_refused(marks: dict[str, str], why: str, tmp_path: Path) -> None:
    """Files were written, with success, that nothing reads back."""
    with pytest.raises(ValidationError, match=why):
        sink(TEXT, path=str(tmp_path), file_format_type="csv", **marks)
    with pytest.raises(ValidationError, match=why):
        source(path=str(tmp_path), file_format_type="csv", schema={"fields": {"a": "string"}}, **marks)
