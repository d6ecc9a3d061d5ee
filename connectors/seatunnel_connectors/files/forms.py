"""Finds the columns whose types a file format cannot hold, and those that it writes in another form."""

from __future__ import annotations

from seatunnel_connectors.files.write.options import CHANGE_FORMATS, FileWriteOptions, WriteFormat
from seatunnel_py.api import Column, Conversion, TableSchema
from seatunnel_py.formats.form_conversions import (
    check_depth,
    check_digits,
    check_keys,
    number_conversions,
    orc_conversions,
    text_conversions,
)
from seatunnel_py.formats.value_text import TextRules

_DELIMITED = (WriteFormat.TEXT, WriteFormat.CSV)
_CELLS = (WriteFormat.XML, WriteFormat.EXCEL)
_DOCUMENTS = (WriteFormat.JSON, *CHANGE_FORMATS)
ORC_DIGITS = 38
SHEET_NAME_MAX, SHEET_COLUMNS_MAX = 31, 16_384


def written(options: FileWriteOptions, table: TableSchema) -> tuple[Column, ...]:
    """Columns that go into files."""
    chosen = options.sink_columns or table.names
    return tuple(column for column in table.columns if column.name in chosen)


def check_forms(options: FileWriteOptions, table: TableSchema) -> None:
    """Raise ValueError for a column that the format cannot hold, or a sheet that it cannot name."""
    columns, form = written(options, table), options.file_format_type
    if form in _DELIMITED:
        check_depth(columns)
    elif form in _DOCUMENTS or form in _CELLS:
        check_keys(columns)
    elif form is WriteFormat.ORC:
        check_digits(columns, ORC_DIGITS, "ORC")
    if form is WriteFormat.EXCEL:
        _check_sheet(options.sheet_name or "", len(columns))


def _check_sheet(name: str, columns: int) -> None:
    """Check the sheet's name once the placeholders are filled in."""
    if len(name.encode("utf-16-le")) > 2 * SHEET_NAME_MAX:
        raise ValueError(f"sheet_name: {name!r} is longer than the {SHEET_NAME_MAX} characters that Excel takes")
    odd = [letter for letter in name if letter in "[]:*?/\\" or not letter.isprintable()]
    if odd or name.strip("'") != name or name.casefold() == "history":
        why = (
            f"no sheet's name may hold {odd[0]!r}" if odd else "Excel keeps it, or apostrophes at its ends, for itself"
        )
        raise ValueError(f"sheet_name: {name!r}: {why}")
    if columns > SHEET_COLUMNS_MAX:
        raise ValueError(f"a sheet holds {SHEET_COLUMNS_MAX:,} columns, and the table has {columns:,}")


def conversions(options: FileWriteOptions, table: TableSchema) -> tuple[Conversion, ...]:
    """Columns whose values are written in another form than the rows hold them."""
    columns, form = written(options, table), options.file_format_type
    if form is WriteFormat.ORC:
        return (*orc_conversions(columns), *number_conversions(columns))
    if form is WriteFormat.PARQUET:
        return number_conversions(columns)
    if form not in (*_DELIMITED, *_CELLS, *_DOCUMENTS):
        return ()
    rules = TextRules(options.null_format, options.date_format, options.datetime_format, options.time_format)
    return text_conversions(columns, rules, empty_is_null=form not in _DOCUMENTS)
