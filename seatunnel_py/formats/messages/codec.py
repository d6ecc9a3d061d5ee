"""Public codec for values of one row each, such as messages of a queue or values of a key-value store.

::

    codec = MessageCodec(table, MessageFormat.JSON)
    yield from codec.decode([b'{"id": 1}', b'{"id": 2}'], end=Position({"at": 2}))
    for text in codec.encode(batch.data).to_pylist(): ...
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from seatunnel_py.api import Batch, Position, Rejected, TableSchema

if TYPE_CHECKING:
    import pyarrow as pa

    from seatunnel_py.formats.messages.decoder import Decoder


class MessageFormat(StrEnum):
    """Format of a row in a value."""

    JSON = "json"
    TEXT = "text"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class MessageCodec:
    """Decodes and encodes the rows of one table. Picklable. ``delimiter`` separates the fields of text and csv.
    ``drop_surplus`` drops fields beyond the table's columns; otherwise such a value is a bad row."""

    table: TableSchema
    format: MessageFormat = MessageFormat.JSON
    delimiter: str = ","
    drop_surplus: bool = False

    def decode(self, values: Sequence[bytes], *, end: Position | None = None) -> Iterator[Batch | Rejected]:
        """Yield first the values that cannot be decoded, then the rows of the others, in order. The last element has
        the position ``end``. A JSON array gives one row for each of its objects."""
        from seatunnel_py.formats.messages.decoder import decode_good

        if not values:
            return
        decoded, bad = decode_good(self._decoder(), values)
        rows = decoded.data.num_rows
        if bad:
            yield self._rejected(values, bad, None if rows else end)
        if rows or not bad:
            yield Batch(self.table.path, decoded.data, end=end)

    def encode(self, data: pa.RecordBatch) -> pa.StringArray:
        """Return one text per row, with the table's columns. Raises BadRowsError for a value without text form."""
        from seatunnel_py.formats.messages.encode import delimited_messages, json_messages

        if self.format is MessageFormat.JSON:
            return json_messages(self.table.columns, data)
        quotes = self.format is MessageFormat.CSV
        return delimited_messages(self.table.columns, data, self.delimiter, quotes=quotes)

    def _decoder(self) -> Decoder:
        if self.format is MessageFormat.JSON:
            from seatunnel_py.formats.messages.json_format import JsonDecoder

            return JsonDecoder(self.table)
        from seatunnel_py.formats.messages.text import CsvDecoder, TextDecoder

        if self.format is MessageFormat.CSV:
            return CsvDecoder(self.table, self.delimiter, drop=self.drop_surplus)
        return TextDecoder(self.table, self.delimiter, whole=False, drop=self.drop_surplus)

    def _rejected(self, values: Sequence[bytes], bad: Mapping[int, str], end: Position | None) -> Rejected:
        import pyarrow as pa

        raw = pa.record_batch([pa.array([values[at] for at in bad], pa.binary())], names=["raw"])
        return Rejected(self.table.path, raw, tuple(bad.values()), end)
