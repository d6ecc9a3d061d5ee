"""Reads fields from bytes one after the other, and never past their end."""

from __future__ import annotations

import struct

from seatunnel_connectors.mysql_cdc.failures import BinlogFormatError

_U16, _U32, _U64 = struct.Struct("<H"), struct.Struct("<I"), struct.Struct("<Q")


class ByteReader:
    """A position in bytes. ``what`` names them in errors."""

    __slots__ = ("at", "data", "end", "what")

    def __init__(self, data: bytes | memoryview, what: str, at: int = 0, end: int | None = None) -> None:
        self.data = data
        self.what = what
        self.at = at
        self.end = len(data) if end is None else end

    @property
    def left(self) -> int:
        return self.end - self.at

    def skip(self, count: int) -> int:
        """Move on, and return the position before."""
        at = self.at
        if count < 0 or at + count > self.end:
            raise BinlogFormatError(f"{self.what} ends early: {count} bytes at {at} of {self.end}")
        self.at = at + count
        return at

    def take(self, count: int) -> bytes:
        at = self.skip(count)
        return bytes(self.data[at : at + count])

    def rest(self) -> bytes:
        return self.take(self.left)

    def u8(self) -> int:
        return self.data[self.skip(1)]

    def u16(self) -> int:
        return int(_U16.unpack_from(self.data, self.skip(2))[0])

    def u32(self) -> int:
        return int(_U32.unpack_from(self.data, self.skip(4))[0])

    def u64(self) -> int:
        return int(_U64.unpack_from(self.data, self.skip(8))[0])

    def unsigned(self, size: int) -> int:
        """A little-endian number of any size."""
        at = self.skip(size)
        return int.from_bytes(self.data[at : at + size], "little")

    def lenenc(self) -> int:
        """A length-encoded number: one byte up to 250, else a mark and 2, 3 or 8 bytes."""
        first = self.u8()
        if first < 251:
            return first
        if first == 252:
            return self.u16()
        if first == 253:
            return self.unsigned(3)
        if first == 254:
            return self.u64()
        raise BinlogFormatError(f"{self.what} holds {first}, which begins no number, at {self.at - 1}")

    def counted(self) -> bytes:
        """Bytes that follow their length-encoded length."""
        return self.take(self.lenenc())

    def text(self, count: int, encoding: str = "utf-8") -> str:
        taken = self.take(count)
        try:
            return taken.decode(encoding)
        except UnicodeDecodeError:
            raise BinlogFormatError(f"{self.what} holds a name that is not {encoding}: {taken!r}") from None

    def expect_end(self) -> None:
        if self.at != self.end:
            raise BinlogFormatError(f"{self.what} has {self.left} bytes more than its fields")
