"""What is written by some options is read back the same by them, or it is refused: texts in text and csv."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from files_support import rows, write
from hypothesis import settings

from seatunnel_py.api import BadRowsError, Column, DataType, FatalError, Kind, TablePath, TableSchema

PIECES = ['"', "", "a", " ", ",", "\n", "\r", "NULL", "\\", "'", ";", "\x01", "\t", "\ufeff", "é"]
FORMS = [
    ("csv", {"csv_string_quote_mode": mode} | quote)
    for mode in ("NONE", "MINIMAL", "ALL")
    for quote in ({}, {"quote_char": ""}, {"quote_char": "'"})
]


def table(width: int, *names: str) -> TableSchema:
    found = names or tuple("abc"[:width])
    return TableSchema(TablePath("", "", "t"), tuple(Column(name, DataType(Kind.STRING)) for name in found))


def same(place: Path, found: list[tuple[str | None, ...]], width: int, form: str, sink: dict[str, Any]) -> bool | None:
    """None where the rows are refused."""
    schema = table(width)
    columns = [pa.array(column, pa.string()) for column in zip(*found, strict=True)]
    both = {"path": str(place), "file_format_type": form} | {
        key: value for key, value in sink.items() if key != "csv_string_quote_mode"
    }
    try:
        write(schema, [pa.RecordBatch.from_arrays(columns, schema=schema.arrow())], **(both | sink))
    except BadRowsError:
        return None
    fields = {column.name: "string" for column in schema.columns}
    back = [tuple(row.values()) for row in rows(**both, schema={"fields": fields})]
    # Without null_format a null and an empty text are written alike; plan and receipt say so.
    alike = [tuple(value if "null_format" in sink else value or None for value in row) for row in found]
    return back == alike


@pytest.mark.parametrize("null", [{}, {"null_format": "NULL"}])
@pytest.mark.parametrize(("form", "sink"), [*FORMS, ("text", {}), ("text", {"field_delimiter": ";"})])
def test_texts_come_back_or_are_refused(tmp_path: Path, form: str, sink: dict[str, Any], null: dict[str, Any]) -> None:
    chance = random.Random(f"{form}{sink}{null}")
    known = 0
    for number in range(settings().max_examples // 2):
        width = chance.choice([1, 2, 3])
        some = [
            tuple(
                chance.choice([None, "".join(chance.choices(PIECES, k=chance.choice([1, 1, 2])))]) for _ in range(width)
            )
            for _ in range(chance.choice([1, 1, 3]))
        ]
        found = same(tmp_path / str(number), some, width, form, sink | null)
        assert found is not False, some
        known += bool(found)
    assert known > 5


@pytest.mark.parametrize("value", ['"a', '"', '"a"'])
def test_a_value_that_begins_with_a_quote_is_refused_where_nothing_is_quoted(tmp_path: Path, value: str) -> None:
    none = {"csv_string_quote_mode": "NONE"}
    assert same(tmp_path / "1", [("x", value)], 2, "csv", none) is None
    assert same(tmp_path / "2", [("x", f"a{value}")], 2, "csv", none)
    assert same(tmp_path / "3", [("x", value)], 2, "csv", none | {"quote_char": ""})


def test_a_name_that_begins_with_a_quote_is_refused_where_nothing_is_quoted(tmp_path: Path) -> None:
    schema = table(1, '"a')
    data = pa.RecordBatch.from_arrays([pa.array(["x"])], schema=schema.arrow())
    options = {"path": str(tmp_path), "file_format_type": "csv", "enable_header_write": True}
    with pytest.raises(FatalError, match="the name of the column '\"a' begins with"):
        write(schema, [data], **options, csv_string_quote_mode="NONE")


@pytest.mark.parametrize("null", [{}, {"null_format": "NULL"}])
def test_an_only_value_that_is_empty_is_a_row(tmp_path: Path, null: dict[str, Any]) -> None:
    """It was quoted without null_format only: else its line was empty, and readers pass over those."""
    assert same(tmp_path / "1", [("x",), ("",), ("y",)], 1, "csv", null)
    assert same(tmp_path / "2", [("x",), ("",), ("y",)], 1, "csv", null | {"csv_string_quote_mode": "NONE"}) is None
    assert same(tmp_path / "3", [("x",), (None,)], 1, "csv", null)
