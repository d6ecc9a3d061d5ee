"""Adds columns from headers (``kafka_headers_fields``), after the columns of the format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_connectors.kafka.source.records import Headers, Records
from seatunnel_py.api import TableSchema
from seatunnel_py.formats.messages.decoder import Decoded, Decoder

if TYPE_CHECKING:
    import pyarrow as pa


class HeadersDecoder(Decoder):
    """Adds header columns; ``inner`` decodes the values of messages. A missing header is null; of several with one name
    the last counts."""

    with_headers: ClassVar[bool] = True

    def __init__(self, table: TableSchema, names: Sequence[str], inner: Decoder) -> None:
        super().__init__(table)
        self.names, self.inner = names, inner

    def values(self, records: Records) -> Sequence[Any]:
        """Pairs of a value and its headers; messages that yield no row in the format are omitted."""
        empty = self.inner.takes_empty
        return [
            (value, headers) if value or (empty and value is not None) else None
            for value, headers in zip(self.inner.values(records), records.headers, strict=True)
        ]

    def decode(self, values: Sequence[Any]) -> Decoded:
        decoded = self.inner.decode([value for value, _ in values])
        columns = [self._texts([headers for _, headers in values], name) for name in self.names]
        if decoded.parents is not None:
            columns = [column.take(decoded.parents) for column in columns]
        return Decoded(self.batch([*decoded.data.columns, *columns]), decoded.kinds, decoded.parents)

    def _texts(self, headers: Sequence[Headers], name: str) -> pa.Array:
        import pyarrow as pa

        found = [next((value for key, value in reversed(list(one)) if key == name), None) for one in headers]
        return pa.array([v.decode(errors="replace") if isinstance(v, bytes) else v for v in found], pa.string())
