"""Formats text and csv: a message is one record of fields between delimiters.

As in files: missing fields are null, surplus ones are left out, and so is what is blank in a column of any other type.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.kafka.decode import BadMessageError, Decoded, Decoder
from seatunnel_connectors.value_text import MisfitError, TextRules, holds_any, text_column
from seatunnel_py.api import TableSchema

if TYPE_CHECKING:
    import pyarrow as pa

_RULES = TextRules()


class TextDecoder(Decoder):
    """Decodes text; a table whose schema nobody gave gets the whole message as its one column."""

    def __init__(self, table: TableSchema, delimiter: str, *, whole: bool) -> None:
        super().__init__(table)
        # The peer's delimiter is a regular expression, so that job files escape `|` and `.`
        self.delimiter = delimiter[1] if delimiter.startswith("\\") and len(delimiter) == 2 else delimiter
        self.whole = whole

    def decode(self, values: Sequence[bytes]) -> Decoded:
        texts = _texts(values)
        fields = [texts] if self.whole else self.fields(texts)
        return Decoded(self.batch(columns_of(fields, self)))

    def fields(self, texts: pa.StringArray) -> list[Any]:
        """The fields of each record, as many as there are columns."""
        import pyarrow as pa
        import pyarrow.compute as pc

        lists = pc.split_pattern(texts, self.delimiter)
        fixed = pc.list_slice(lists, 0, len(self.columns), return_fixed_size_list=True)
        empty = pa.array([], pa.string())
        return [pc.list_element(fixed, at) if len(fixed) else empty for at in range(len(self.columns))]


class CsvDecoder(TextDecoder):
    """Decodes csv: quotes are honoured, and line breaks between them; of the delimiter the first character counts."""

    def __init__(self, table: TableSchema, delimiter: str) -> None:
        super().__init__(table, delimiter, whole=False)
        self.delimiter = self.delimiter[0]

    def fields(self, texts: pa.StringArray) -> list[Any]:
        import pyarrow as pa

        if not holds_any(texts, b'"'):
            return super().fields(texts)
        width = len(self.columns)
        records = []
        for index, text in enumerate(texts.to_pylist()):
            try:
                record = next(csv.reader([text], delimiter=self.delimiter, strict=True), [])
            except csv.Error as error:
                raise BadMessageError(index, f"it is not csv: {error}") from None
            records.append([*record[:width], *[None] * (width - len(record))])
        return [pa.array([record[at] for record in records], pa.string()) for at in range(width)]


def columns_of(fields: Sequence[Any], decoder: Decoder) -> list[Any]:
    """Columns of text as their types say."""
    arrays = []
    for texts, column in zip(fields, decoder.columns, strict=True):
        try:
            arrays.append(text_column(texts, column.dtype, _RULES))
        except MisfitError as error:
            raise BadMessageError(error.index, f"column {column.name!r}: {error}") from None
    return arrays


def _texts(values: Sequence[bytes]) -> pa.StringArray:
    import pyarrow as pa

    try:
        return pa.array(values, pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        for index, value in enumerate(values):
            try:
                value.decode()
            except UnicodeDecodeError:
                raise BadMessageError(index, "it is not UTF-8 text") from None
        raise
