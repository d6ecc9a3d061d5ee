"""Reads and writes the lzop container: blocks compressed with LZO1X, as the `lzop` program and Hadoop do.

A file is a magic number, a header with its own checksum, blocks, and a zero. Each block has its unpacked and packed
sizes; a block that did not shrink is stored as it is. Files written here carry an Adler-32 of every block.
"""

from __future__ import annotations

import struct
import zlib
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from seatunnel_py.api import FatalError

if TYPE_CHECKING:
    from seatunnel_connectors.files.read.document import ByteStream

LZO_LIBRARY = "lzallright"
MAGIC = b"\x89LZO\x00\r\n\x1a\n"
BLOCK_BYTES = 256 * 1024  # block size of lzop and Hadoop
BLOCK_BYTES_MAX = 8 * 1024 * 1024  # a block is unpacked in memory: a longer one is refused

_ADLER_PLAIN, _ADLER_PACKED = 0x1, 0x2
_EXTRA_FIELD = 0x40
_CRC_PLAIN, _CRC_PACKED = 0x100, 0x200
_FILTER, _HEADER_CRC = 0x800, 0x1000
_VERSION, _LIBRARY, _NEEDED = 0x1010, 0x2080, 0x0940  # any reader of the last 20 years supports these versions
_METHODS = (1, 2, 3)  # all of them are LZO1X for decompression


class _Target(Protocol):
    def write(self, data: Any) -> int: ...


class LzopWriter:
    """Packs written data. ``close`` ends the container, not the file."""

    def __init__(self, file: _Target) -> None:
        self.file = file
        self.packer = _library().LZOCompressor()
        self.waiting = bytearray()
        header = struct.pack(">HHHBBIIIIB", _VERSION, _LIBRARY, _NEEDED, 1, 5, _ADLER_PLAIN, 0o100644, 0, 0, 0)
        file.write(MAGIC + header + struct.pack(">I", zlib.adler32(header)))

    def write(self, data: bytes) -> int:
        self.waiting += data
        while len(self.waiting) >= BLOCK_BYTES:
            self._block(bytes(self.waiting[:BLOCK_BYTES]))
            del self.waiting[:BLOCK_BYTES]
        return len(data)

    def close(self) -> None:
        if self.waiting:
            self._block(bytes(self.waiting))
            self.waiting.clear()
        self.file.write(struct.pack(">I", 0))

    def _block(self, plain: bytes) -> None:
        packed = self.packer.compress(plain)
        if len(packed) >= len(plain):
            packed = plain
        self.file.write(struct.pack(">III", len(plain), len(packed), zlib.adler32(plain)))
        self.file.write(packed)


class LzopReader:
    """Unpacks a container. Containers may be concatenated, as with gzip."""

    def __init__(self, stream: ByteStream) -> None:
        self.stream = stream
        self.flags = 0
        self.ready = b""
        self.at = 0
        self.ended = False
        self._header(self._bytes(len(MAGIC)))

    def read(self, size: int = -1) -> bytes:
        """Read ``size`` bytes, or the rest."""
        found = bytearray()
        while size < 0 or len(found) < size:
            if self.at == len(self.ready) and not self._next():
                break
            chunk = self.ready[self.at :] if size < 0 else self.ready[self.at : self.at + size - len(found)]
            self.at += len(chunk)
            found += chunk
        return bytes(found)

    def close(self) -> None:
        self.stream.close()

    def _next(self) -> bool:
        """Unpack the next block; False at the end."""
        while not self.ended:
            (plain,) = struct.unpack(">I", self._bytes(4))
            if plain:
                self.ready, self.at = self._block(plain), 0
                return True
            more = self.stream.read(len(MAGIC))
            if more:
                self._header(more + self._bytes(len(MAGIC) - len(more)))
            else:
                self.ended = True
        return False

    def _block(self, size: int) -> bytes:
        (packed,) = struct.unpack(">I", self._bytes(4))
        if size > BLOCK_BYTES_MAX or not 0 < packed <= size:
            raise FatalError(f"an lzo block of {size} bytes, {packed} packed", "is it an lzop file, and undamaged?")
        wanted = [(check, self._number()) for flag, check in _PLAIN_CHECKS if self.flags & flag]
        wanted_packed = [
            (check, self._number()) for flag, check in _PACKED_CHECKS if self.flags & flag and packed < size
        ]
        data = self._bytes(packed)
        self._compare(data, wanted_packed)
        if packed < size:
            library = _library()
            try:
                data = library.LZOCompressor.decompress(data, size)
            except library.LZOError as error:
                raise OSError(f"a block is damaged: {error}") from None
        if len(data) != size:
            raise OSError(f"a block unpacks to {len(data)} bytes, not {size}")
        self._compare(data, wanted)
        return data

    def _compare(self, data: bytes, wanted: list[tuple[Any, int]]) -> None:
        if any(check(data) != number for check, number in wanted):
            raise OSError("the checksum of a block is wrong")

    def _header(self, magic: bytes) -> None:
        if magic != MAGIC:
            raise OSError("not an lzop file")
        read = bytearray()

        def field(form: str) -> int:
            data = self._bytes(struct.calcsize(form))
            read.extend(data)
            return int(struct.unpack(form, data)[0])

        version = field(">H")
        field(">H")
        if version >= _NEEDED:
            field(">H")
        method = field("B")
        if version >= _NEEDED:
            field("B")
        self.flags = field(">I")
        if self.flags & _FILTER or method not in _METHODS:
            raise OSError(f"method {method} of lzop is not known")
        for _ in range(3 if version >= _NEEDED else 2):  # mode, and modification time in one part or two
            field(">I")
        read += self._bytes(field("B"))
        check = zlib.crc32 if self.flags & _HEADER_CRC else zlib.adler32
        if self._number() != check(bytes(read)):
            raise OSError("the checksum of the header is wrong")
        if self.flags & _EXTRA_FIELD:
            self._bytes(self._number() + 4)

    def _number(self) -> int:
        return int.from_bytes(self._bytes(4), "big")

    def _bytes(self, size: int) -> bytes:
        found = bytearray()
        while len(found) < size:
            chunk = self.stream.read(size - len(found))
            if not chunk:
                raise EOFError("the file ends too early")
            found += chunk
        return bytes(found)


def _library() -> Any:
    """Load the LZO library at its first use, as the codec may follow from a file's name."""
    try:
        return import_module(LZO_LIBRARY)
    except ImportError:
        raise FatalError(
            f"lzo needs the library {LZO_LIBRARY}", "type: pip install 'seatunnel-py[lzo]', on the workers as well"
        ) from None


_PLAIN_CHECKS = ((_ADLER_PLAIN, zlib.adler32), (_CRC_PLAIN, zlib.crc32))
_PACKED_CHECKS = ((_ADLER_PACKED, zlib.adler32), (_CRC_PACKED, zlib.crc32))
