"""Strips the header that serializers of a schema registry prepend (``strip_schema_registry_header``): a zero byte, the
schema's number in four bytes, and for Protobuf the path to the message's type in its file.

The registry is not contacted: ``avro_schema`` and ``protobuf_schema`` define the messages, whatever their number.
"""

from __future__ import annotations

from collections.abc import Sequence

from seatunnel_py.api import TableSchema
from seatunnel_py.formats.messages.decoder import BadMessageError, Decoded, Decoder

HEADER_BYTES = 5
_VARINT_BYTES_MAX = 5


class FramedDecoder(Decoder):
    """Strips the header; ``inner`` decodes the rest. ``with_path``: the header includes a Protobuf type's path."""

    def __init__(self, table: TableSchema, inner: Decoder, *, with_path: bool) -> None:
        super().__init__(table)
        self.inner, self.with_path = inner, with_path

    def decode(self, values: Sequence[bytes]) -> Decoded:
        return self.inner.decode([self._body(index, value) for index, value in enumerate(values)])

    def _body(self, index: int, value: bytes) -> bytes:
        start = HEADER_BYTES
        if len(value) < start or value[0]:
            raise BadMessageError(index, "it has no header of a schema registry (strip_schema_registry_header)")
        if self.with_path:
            steps, start = self._varint(index, value, start)
            for _ in range(steps >> 1):  # numbers are zigzag; a single zero means the first type of the file
                _, start = self._varint(index, value, start)
        return value[start:]

    def _varint(self, index: int, value: bytes, start: int) -> tuple[int, int]:
        """Return the number that begins there, and the position after it."""
        number = 0
        for at, byte in enumerate(value[start : start + _VARINT_BYTES_MAX]):
            number |= (byte & 0x7F) << (7 * at)
            if byte < 0x80:
                return number, start + at + 1
        raise BadMessageError(index, "the header of a schema registry in front of it is cut off")
