"""Decodes the format json: a message is an object, or an array of objects, each a row.

Arrow's parser reads many messages at once if each looks like one object: then a document spread over two messages, or
two documents in one message, give a wrong count and are detected. All other messages are read one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seatunnel_py.api import Column, TableSchema
from seatunnel_py.formats.json.columns import json_column
from seatunnel_py.formats.json.direct import DirectJson, is_direct
from seatunnel_py.formats.json.values import DOCUMENTS, other_case
from seatunnel_py.formats.messages.decoder import BadMessageError, Decoded, Decoder
from seatunnel_py.formats.value_text import MisfitError, TextRules

RULES = TextRules()


class JsonDecoder(Decoder):
    """Decodes JSON documents by the columns' names."""

    def __init__(self, table: TableSchema) -> None:
        super().__init__(table)
        self.documents = Documents(self.envelope())

    def envelope(self) -> Sequence[Column]:
        """Columns of a message's envelope."""
        return self.columns

    def opened(self, arrays: list[Any], parents: Sequence[int]) -> list[Any]:
        """The table's columns, taken out of the envelope's columns; ``parents`` are the messages of the rows."""
        return arrays

    def decode(self, values: Sequence[bytes]) -> Decoded:
        import pyarrow as pa

        arrays, parents = self.documents.read(values)
        columns = self.opened(arrays, range(len(values)) if parents is None else parents)
        return Decoded(self.batch(columns), parents=None if parents is None else pa.array(parents, pa.int64()))


class Documents:
    """Converts JSON documents to columns: all at once if possible, else one by one."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns
        self.is_direct = is_direct(columns)
        self.direct = DirectJson(columns, RULES)

    def read(self, values: Sequence[bytes]) -> tuple[list[Any], list[int] | None]:
        """Return the columns, and each row's message; None if each message is a row."""
        import pyarrow as pa

        if self.is_direct:
            try:
                text = _framed(values)
                arrays = [] if text is None else self.direct.read(text)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, MisfitError):
                arrays = []
            if arrays and len(arrays[0]) == len(values):
                return arrays, None
        return self._one_by_one(values)

    def _one_by_one(self, values: Sequence[bytes]) -> tuple[list[Any], list[int] | None]:
        rows: list[Any] = []
        parents: list[int] = []
        for index, value in enumerate(values):
            found = self.rows(index, value)
            rows += found
            parents += [index] * len(found)
        for row, why in other_case(rows, [column.name for column in self.columns]):
            raise BadMessageError(parents[row], why)
        arrays = []
        for place, column in enumerate(self.columns):
            cells = [_cell(row, column.name, place) for row in rows]
            if column.default is not None:
                cells = [column.default if cell is None else cell for cell in cells]
            try:
                arrays.append(json_column(cells, column.dtype, RULES))
            except MisfitError as error:
                raise BadMessageError(parents[error.index], f"column {column.name!r}: {error}") from None
        return arrays, None if parents == list(range(len(values))) else parents

    def rows(self, index: int, value: bytes) -> list[Any]:
        """Rows of one message: the object itself, or the items of an array. An array of plain values is one row, by
        column order."""
        try:
            found = DOCUMENTS.decode(value.decode())
        except UnicodeDecodeError:
            raise BadMessageError(index, "it is not UTF-8 text") from None
        except (ValueError, RecursionError) as error:
            reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
            raise BadMessageError(index, f"it is not a JSON document: {reason}") from None
        if isinstance(found, dict):
            return [found]
        if isinstance(found, list):
            return found if all(isinstance(item, dict | list) for item in found) else [found]
        raise BadMessageError(index, "a row must be a JSON object or array")


def _cell(row: Any, name: str, place: int) -> Any:
    """Return a value by name, or by place if the row is a list."""
    if isinstance(row, dict):
        return row.get(name)
    return row[place] if place < len(row) else None


def _framed(values: Sequence[bytes]) -> Any:
    """Join the documents for one parse if each looks like one object; else None."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pa.array(values, pa.binary())
    framed = pc.all(pc.and_(pc.starts_with(column, "{"), pc.ends_with(column, "}"))).as_py()
    return column.buffers()[2] if framed else None
