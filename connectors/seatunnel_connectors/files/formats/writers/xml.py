"""Writes the format xml: a row is an element, its values are attributes or elements; nulls are omitted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.files.formats.cells import byte_text
from seatunnel_connectors.files.formats.writers.base import FormatWriter, TextWriter, joined_rows
from seatunnel_connectors.files.write.options import FileWriteOptions
from seatunnel_py.api import BadRowsError, Column, Kind
from seatunnel_py.formats.json.text import json_values
from seatunnel_py.formats.value_text import column_text, holds_any

if TYPE_CHECKING:
    import pyarrow as pa

NAME = re.compile(r"[A-Za-z_\u00C0-\uFFFD][A-Za-z0-9_.\u00B7-\uFFFD-]*")
FORBIDDEN = r"[\x00-\x08\x0b\x0c\x0e-\x1f]"
"""Characters that no XML document may contain, in any spelling."""

NO_CHARACTERS = ("\ufffe", "\uffff")
REMEDY = "remove it with a transform, or write another format"

_ESCAPES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("\r", "&#13;"))
_IN_ATTRIBUTES = (("\n", "&#10;"), ("\t", "&#9;"))
_CONTAINERS = {Kind.ARRAY, Kind.MAP, Kind.ROW, Kind.FLOAT_VECTOR, Kind.FLOAT16_VECTOR, Kind.SPARSE_FLOAT_VECTOR}


def check_names(options: FileWriteOptions, columns: tuple[Column, ...]) -> None:
    """Raise ValueError for a name that is not allowed for an element or attribute."""
    for name in (options.xml_root_tag, options.xml_row_tag, *(column.name for column in columns)):
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot be the name of an XML element or attribute")


class XmlWriter(TextWriter):
    """XML documents."""

    def __init__(self, options: FileWriteOptions, columns: tuple[Column, ...]) -> None:
        FormatWriter.__init__(self, options, columns)
        check_names(options, columns)
        self.in_attributes = bool(options.xml_use_attr_format)

    def head(self) -> str:
        encoding = self.options.encoding.upper()
        return f'<?xml version="1.0" encoding="{encoding}"?>\n<{self.options.xml_root_tag}>\n'

    def tail(self) -> str:
        return f"</{self.options.xml_root_tag}>\n"

    def body(self, batch: pa.RecordBatch) -> bytes:
        import pyarrow.compute as pc

        tag = self.options.xml_row_tag
        values = [self._value(array, column) for array, column in zip(batch.columns, self.columns, strict=True)]
        start, end = ("", "/>") if self.in_attributes else (">", f"</{tag}>")
        text = joined_rows(pc.binary_join_element_wise(f"    <{tag}{start}", *values, end, ""), "\n")
        if any(letter.encode() in text for letter in NO_CHARACTERS):
            raise BadRowsError("a value holds U+FFFE or U+FFFF, which XML cannot", REMEDY)
        return text

    def _value(self, array: pa.Array, column: Column) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        if column.dtype.kind in _CONTAINERS:
            texts = json_values(array, column.dtype, self.rules)
            texts = pc.if_else(array.is_null(), None, texts)
        elif column.dtype.kind is Kind.BYTES:
            texts = pa.array([None if value is None else byte_text(value) for value in array.to_pylist()], pa.string())
        else:
            texts = column_text(array, column, self.rules)
        if self.options.null_format is not None:
            texts = pc.fill_null(texts, self.options.null_format)
        texts = self._escaped(texts, column)
        name = column.name
        if self.in_attributes:
            return pc.fill_null(pc.binary_join_element_wise(f' {name}="', texts, '"', ""), "")
        return pc.fill_null(pc.binary_join_element_wise(f"<{name}>", texts, f"</{name}>", ""), "")

    def _escaped(self, texts: Any, column: Column) -> Any:
        import pyarrow.compute as pc

        if not holds_any(texts, bytes(range(32)) + b'&<>"'):
            return texts
        if pc.any(pc.match_substring_regex(texts, FORBIDDEN)).as_py():
            raise BadRowsError(f"column {column.name!r}: a value holds a control character, which XML cannot", REMEDY)
        for mark, escape in _ESCAPES + (_IN_ATTRIBUTES if self.in_attributes else ()):
            texts = pc.replace_substring(texts, mark, escape)
        return texts
