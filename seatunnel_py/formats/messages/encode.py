"""Converts rows to messages in JSON, text and csv: one text per row, whole columns at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from seatunnel_py.api import BadRowsError, Column
from seatunnel_py.formats.json.text import json_documents
from seatunnel_py.formats.value_text import TextRules, column_text

if TYPE_CHECKING:
    import pyarrow as pa

_RULES = TextRules()
_CSV_MARKS = '"\n\r'


def json_messages(columns: Sequence[Column], data: pa.RecordBatch) -> pa.StringArray:
    """A JSON object for each row, of these columns."""
    names = [column.name for column in columns]
    return json_documents(names, [column.dtype for column in columns], [data.column(name) for name in names], _RULES)


def delimited_messages(
    columns: Sequence[Column], data: pa.RecordBatch, delimiter: str, *, quotes: bool
) -> pa.StringArray:
    """Join the texts of these columns with the delimiter. ``quotes``: csv, whose values may contain it. Raises
    BadRowsError for a value that would be split when it is read."""
    import pyarrow.compute as pc

    fields = []
    for column in columns:
        texts = column_text(data.column(column.name), column, _RULES)
        if quotes:
            texts = _quoted(texts, delimiter)
        elif len(columns) > 1 and _is_torn(texts, delimiter):
            raise BadRowsError(
                f"column {column.name!r}: a value contains the delimiter {delimiter!r}, and would be split when read",
                "choose another field_delimiter, or the format csv, which quotes values",
            )
        fields.append(texts)
    return pc.binary_join_element_wise(*fields, delimiter, null_handling="replace", null_replacement="")


def _is_torn(texts: Any, delimiter: str) -> bool:
    """Return True if a value contains the delimiter, or would form one with the next delimiter."""
    import pyarrow.compute as pc

    at = pc.find_substring(pc.binary_join_element_wise(texts, delimiter, ""), delimiter)
    return bool(pc.any(pc.not_equal(at, pc.binary_length(texts))).as_py())


def _quoted(texts: Any, delimiter: str) -> Any:
    """Quote csv values that contain a delimiter, a quote or a line break."""
    import pyarrow.compute as pc

    special = "[" + "".join(f"\\x{{{ord(mark):x}}}" for mark in dict.fromkeys(delimiter + _CSV_MARKS)) + "]"
    inside = pc.binary_join_element_wise('"', pc.replace_substring(texts, '"', '""'), '"', "")
    return pc.if_else(pc.match_substring_regex(texts, special), inside, texts)
