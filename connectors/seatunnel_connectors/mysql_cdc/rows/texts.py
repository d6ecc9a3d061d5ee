"""Builds columns of text and bytes: text is decoded by the column's character set, and bytes that are none are named.

Texts of a character set that extends ASCII need no decoding as long as they have no byte beyond it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from seatunnel_connectors.jdbc.mysql.read.cells import RowCells
from seatunnel_connectors.mysql_cdc.failures import BinlogFormatError
from seatunnel_connectors.mysql_cdc.log.charsets import CODECS
from seatunnel_connectors.mysql_cdc.log.compressed import inflated
from seatunnel_connectors.mysql_cdc.rows.built import Build, Built, each

_UTF8 = ("utf-8", "ascii")
_WIDE = ("utf-16-be", "utf-16-le", "utf-32-be")
_SHOWN_BYTES = 40
_LATIN1_CONTROLS = {byte: byte for byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}
"""Bytes that cp1252 leaves free: the server keeps them as control characters."""


def bytes_of(cells: RowCells) -> Built:
    """Bytes as they are."""
    return Built(cells.binary())


def padded_bytes(length: int) -> Build:
    """BINARY(n): the log drops zero bytes at the end."""

    def build(cells: RowCells) -> Built:
        found = cells.binary()
        lengths = cells.lengths
        short = lengths is not None and bool((lengths < length).any())
        return each(cells, lambda value: value.ljust(length, b"\0"), pa.binary()) if short else Built(found)

    return build


def texts(charset: str) -> Build:
    codec = CODECS.get(charset, "")
    if not codec:
        raise ValueError(f"the character set {charset!r} has no decoder")
    decode = decoder(charset)
    if codec in _WIDE:
        return lambda cells: each(cells, decode, pa.string())

    def build(cells: RowCells) -> Built:
        found = cells.binary()
        if codec in _UTF8 or _is_ascii(found):
            try:
                return Built(found.cast(pa.string()))
            except pa.ArrowInvalid:
                return each(cells, decode, pa.string())
        return each(cells, decode, pa.string())

    return build


def _is_ascii(found: pa.Array) -> bool:
    data = found.buffers()[2]
    return data is None or not bool((np.frombuffer(data, np.uint8) & 0x80).any())


def decoder(charset: str) -> Callable[[bytes], str]:
    """Decode one value. ValueError shows bytes that are not a text of the character set."""
    codec = CODECS[charset]

    def decode(value: bytes) -> str:
        try:
            if codec == "cp1252":
                return _latin1(value)
            return value.decode(codec)
        except UnicodeDecodeError:
            shown = value[:_SHOWN_BYTES].hex() + ("…" if len(value) > _SHOWN_BYTES else "")
            raise ValueError(f"the bytes {shown}, which are not {charset}") from None

    return decode


def _latin1(value: bytes) -> str:
    try:
        return value.decode("cp1252")
    except UnicodeDecodeError:
        return "".join(chr(byte) if byte in _LATIN1_CONTROLS else bytes([byte]).decode("cp1252") for byte in value)


def compressed(charset: str) -> Build:
    """MariaDB's COMPRESSED columns: a byte of marks, the length in big-endian order, and a zlib stream."""
    decode: Callable[[bytes], Any] = decoder(charset) if charset else bytes
    kind = pa.string() if charset else pa.binary()
    return lambda cells: each(cells, lambda value: decode(_uncompressed(value)), kind)


def _uncompressed(value: bytes) -> bytes:
    if not value or value[0] == 0:
        return value[1:]
    marks, size = value[0], value[0] & 7
    if marks >> 4 != 8:
        raise BinlogFormatError(f"a compressed column holds a value that is compressed in the unknown way {marks:#04x}")
    length = int.from_bytes(value[1 : 1 + size], "big")
    bits = -zlib.MAX_WBITS if marks & 8 else zlib.MAX_WBITS
    return inflated(value[1 + size :], length, "a value of a compressed column", bits)
