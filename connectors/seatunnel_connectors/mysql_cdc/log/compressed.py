"""Unpacks compressed parts of a log: MariaDB's zlib records, and MySQL's transaction payloads.

Sizes that the log declares are checked against the content, and never allocated in advance: they may be damaged.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator

from seatunnel_connectors.mysql_cdc.failures import BinlogFormatError
from seatunnel_connectors.mysql_cdc.log.byte_reader import ByteReader
from seatunnel_connectors.mysql_cdc.log.event_types import HEADER_BYTES

_CHUNK_BYTES = 1 << 20
_END, _SIZE, _COMPRESSION, _UNCOMPRESSED = 0, 1, 2, 3
_ZSTD, _NONE = 0, 255
_EVENT_SIZE = struct.Struct("<I")
EVENT_BYTES_MAX = 1 << 30
"""The servers' own limit (max_allowed_packet), with the headers of a packet."""


def uncompressed_record(reader: ByteReader) -> bytes:
    """The rest of an event as MariaDB compresses it: a byte of marks, the length in big-endian order, a zlib stream."""
    marks = reader.u8()
    if not marks & 0x80 or marks >> 4 & 7:
        raise BinlogFormatError(f"{reader.what} is compressed in the unknown way {marks:#04x}")
    length = int.from_bytes(reader.take(marks & 7), "big")
    return inflated(reader.rest(), length, reader.what, zlib.MAX_WBITS)


def inflated(data: bytes, length: int, what: str, bits: int) -> bytes:
    """Decompress a zlib stream (a raw one for negative ``bits``) of a known length."""
    stream = zlib.decompressobj(bits)
    try:
        found = stream.decompress(data, length + 1)
    except zlib.error as error:
        raise BinlogFormatError(f"{what} cannot be decompressed: {error}") from None
    if len(found) != length or not stream.eof or stream.unused_data:
        raise BinlogFormatError(f"{what} does not decompress to the {length} bytes that it declares")
    return found


def payload_events(reader: ByteReader) -> Iterator[memoryview]:
    """The events of a transaction payload."""
    compression, size, wanted = _NONE, -1, -1
    while (code := reader.lenenc()) != _END:
        value = ByteReader(reader.counted(), reader.what)
        if code == _COMPRESSION:
            compression = value.lenenc()
        elif code == _SIZE:
            size = value.lenenc()
        elif code == _UNCOMPRESSED:
            wanted = value.lenenc()
    data = reader.take(size if size >= 0 else reader.left)
    reader.expect_end()
    if compression == _NONE:
        yield from split_events([data], len(data), reader.what)
    elif compression == _ZSTD:
        yield from split_events(_unzstd(data, reader.what), wanted, reader.what)
    else:
        raise BinlogFormatError(f"{reader.what} is compressed in the unknown way {compression}")


def _unzstd(data: bytes, what: str) -> Iterator[bytes]:
    import pyarrow as pa

    try:
        with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
            while chunk := stream.read(_CHUNK_BYTES):
                yield chunk
    except OSError as error:
        raise BinlogFormatError(f"{what} cannot be decompressed: {error}") from None


def split_events(chunks: Iterable[bytes], wanted: int, what: str) -> Iterator[memoryview]:
    """Cut a stream of bytes into events by the sizes in their headers. ``wanted`` bytes must come; -1: any number."""
    rest, total = b"", 0
    for chunk in chunks:
        total += len(chunk)
        data = memoryview(rest + chunk if rest else chunk)
        at = 0
        while len(data) - at >= HEADER_BYTES:
            size = _EVENT_SIZE.unpack_from(data, at + 9)[0]
            if not HEADER_BYTES <= size <= EVENT_BYTES_MAX:
                raise BinlogFormatError(f"{what} holds an event of {size} bytes")
            if len(data) - at < size:
                break
            yield data[at : at + size]
            at += size
        rest = bytes(data[at:])
    if rest:
        raise BinlogFormatError(f"{what} ends in the middle of an event")
    if wanted not in (-1, total):
        raise BinlogFormatError(f"{what} holds {total} bytes, not the {wanted} that it declares")
