"""Decodes the formats text and csv: a message is one record of fields between delimiters.

Rules as for files: missing fields are null, and so is a blank field in a column of any type but string. A record with
more fields than columns is refused, unless the job file allows dropping them. The record of a single column is its
value.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from seatunnel_py.api import TableSchema
from seatunnel_py.formats.messages.decoder import BadMessageError, Decoded, Decoder
from seatunnel_py.formats.value_text import MisfitError, TextRules, holds_any, text_column
from seatunnel_py.formats.value_text.stand_ins import stand_in

if TYPE_CHECKING:
    import pyarrow as pa


class TextDecoder(Decoder):
    """Decodes text; a table without a schema gets the whole message as its one column."""

    def __init__(self, table: TableSchema, delimiter: str, *, whole: bool, drop: bool = False) -> None:
        super().__init__(table)
        # SeaTunnel's delimiter is a regular expression, so job files escape `|` and `.`
        self.delimiter = delimiter[1] if delimiter.startswith("\\") and len(delimiter) == 2 else delimiter
        self.whole = whole
        self.rules = TextRules(drop_surplus=drop)

    def decode(self, values: Sequence[bytes]) -> Decoded:
        texts = _texts(values)
        fields = [texts] if self.whole else self.fields(texts)
        return Decoded(self.batch(columns_of(fields, self)))

    def fields(self, texts: pa.StringArray) -> list[Any]:
        """The fields of each record, as many as there are columns."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if len(self.columns) == 1:
            return [texts]
        lists = pc.split_pattern(texts, self.delimiter)
        self.refuse_surplus(pc.list_value_length(lists))
        fixed = pc.list_slice(lists, 0, len(self.columns), return_fixed_size_list=True)
        empty = pa.array([], pa.string())
        return [pc.list_element(fixed, at) if len(fixed) else empty for at in range(len(self.columns))]

    def refuse_surplus(self, lengths: pa.Array) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        longer = pc.greater(lengths, len(self.columns))
        at = -1 if self.rules.drop_surplus else pc.index(longer, pa.scalar(True)).as_py()
        if at >= 0:
            raise BadMessageError(
                at,
                f"it has {lengths[at]} fields for {len(self.columns)} columns; "
                "surplus_fields = drop drops the surplus fields",
            )


class CsvDecoder(TextDecoder):
    """Decodes csv, with quotes, and with line breaks inside quotes."""

    def __init__(self, table: TableSchema, delimiter: str, *, drop: bool = False) -> None:
        super().__init__(table, delimiter, whole=False, drop=drop)

    def fields(self, texts: pa.StringArray) -> list[Any]:
        import pyarrow as pa

        if not holds_any(texts, b'"'):
            return super().fields(texts)
        width = len(self.columns)
        records = [self.record(index, text) for index, text in enumerate(texts.to_pylist())]
        self.refuse_surplus(pa.array(map(len, records), pa.int32()))
        records = [[*record[:width], *[None] * (width - len(record))] for record in records]
        return [pa.array([record[at] for record in records], pa.string()) for at in range(width)]

    def record(self, index: int, text: str) -> list[str | None]:
        mark = stand_in(text, self.delimiter)
        lines = io.StringIO(text.replace(self.delimiter, mark), newline="")
        try:
            fields = next(csv.reader(lines, delimiter=mark, strict=True), [])
        except csv.Error as error:
            raise BadMessageError(index, f"it is not csv: {error}") from None
        return [field.replace(mark, self.delimiter) for field in fields]


def columns_of(fields: Sequence[Any], decoder: TextDecoder) -> list[Any]:
    """Convert columns of text to the columns' types."""
    arrays = []
    for texts, column in zip(fields, decoder.columns, strict=True):
        try:
            arrays.append(text_column(texts, column.dtype, decoder.rules))
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
