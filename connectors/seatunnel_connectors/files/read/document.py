"""Opens documents: one file, or one member of an archive, which formats see as a name and bytes.

Packed content is unpacked while reading, with a limit: a stream that grows far beyond its packed size is refused,
because such a file (a "bomb") is made to fill memory.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from seatunnel_connectors.files.storage import FileEntry, LocalFiles
from seatunnel_py.api import FatalError, Plain

if TYPE_CHECKING:
    import pyarrow as pa

RATIO_MAX = 200  # text shrinks 5 to 50 times; a stream of one repeated byte 1,000 times
FREE_BYTES = 64 * 1024 * 1024  # harmless, whatever the ratio
SKIP_BYTES = 1024 * 1024
WHOLE_BYTES_MAX = 2 * 1024 * 1024 * 1024  # formats with random access hold a packed file in memory


class ByteStream(Protocol):
    """Bytes in order."""

    def read(self, size: int = -1, /) -> bytes: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Document:
    """A file or a member of an archive. ``member``: place in the archive (archives.py); empty: the file itself.
    ``codec``: a stream compression by Arrow's name, ``lzo``, or empty."""

    storage: LocalFiles
    entry: FileEntry
    codec: str = ""
    archive: str = ""
    member: Mapping[str, Plain] | None = None

    @property
    def name(self) -> str:
        """Name for messages: the path, with the member after a ``!``."""
        return f"{self.entry.path}!{self.member['name']}" if self.member else self.entry.path

    @property
    def plain(self) -> bool:
        """True if the content is the file's own bytes, so that parts can be read separately."""
        return not self.codec and not self.archive

    def check_unchanged(self) -> None:
        """Raise if the file is not the one found at planning, because positions refer to that one."""
        now = self.storage.stat(self.entry.path)
        if now is None or now.generation != self.entry.generation:
            state = "is gone" if now is None else f"changed ({self.entry.size} to {now.size} bytes)"
            raise FatalError(
                f"the file {self.entry.path} {state} since the job found it",
                "do not write into files that are being read; start the job afresh to read the new content",
            )

    def stream(self, offset: int = 0) -> ByteStream:
        """The content from ``offset`` on. Packed content before it is unpacked and skipped."""
        raw = self.storage.open_input(self.entry.path)
        if self.plain:
            raw.seek(offset)
            opened: ByteStream = raw
            return opened
        from seatunnel_connectors.files.read.archives import open_member

        with unpacking(self.name):
            opened = open_member(raw, self.archive, self.member) if self.archive else raw
            if self.codec == "lzo":
                from seatunnel_connectors.files.lzop import LzopReader

                opened = LzopReader(opened)
            elif self.codec:
                import pyarrow as pa

                opened = pa.CompressedInputStream(opened, self.codec)
        bounded = Bounded(opened, self.name, self._packed_bytes())
        bounded.pass_over(offset)
        return bounded

    def whole(self) -> pa.NativeFile:
        """The content, for random access."""
        import pyarrow as pa

        if self.plain:
            return self.storage.open_input(self.entry.path)
        with closing(self.stream()) as stream:
            content = stream.read(WHOLE_BYTES_MAX + 1)
        if len(content) > WHOLE_BYTES_MAX:
            raise FatalError(f"{self.name} is too big to be read from an archive", "unpack it first")
        return pa.BufferReader(content)

    def _packed_bytes(self) -> int:
        size = self.member.get("packed") if self.member else None
        return size if isinstance(size, int) else self.entry.size


class Bounded(io.RawIOBase):
    """A stream of unpacked bytes that raises an error when it grows beyond its limit."""

    def __init__(self, stream: ByteStream, name: str, packed: int) -> None:
        self.stream = stream
        self.name = name
        self.limit = max(FREE_BYTES, packed * RATIO_MAX)
        self.count = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        with unpacking(self.name):
            chunk: bytes = self.stream.read(self.limit + 1 if size < 0 else size)
        self.count += len(chunk)
        if self.count > self.limit:
            raise FatalError(
                f"{self.name} unpacks to more than {self.limit} bytes, over {RATIO_MAX} times its packed size",
                "such a file is taken for a decompression bomb; unpack it first if it is genuine",
            )
        return chunk

    def readinto(self, buffer: Any) -> int:
        chunk = self.read(len(buffer))
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def pass_over(self, count: int) -> None:
        while count > 0:
            chunk = self.read(min(count, SKIP_BYTES))
            if not chunk:
                raise FatalError(f"{self.name} ends before the position that reading should resume at")
            count -= len(chunk)

    def close(self) -> None:
        if not self.closed:
            self.stream.close()
        super().close()


class unpacking:
    """Turns a decompressor's error into a typed one that names the file."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        import tarfile
        import zipfile
        import zlib

        broken = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, NotImplementedError)
        if isinstance(error, RuntimeError) and "password" in str(error):
            raise FatalError(f"{self.name} is encrypted", "unpack it first") from error
        if isinstance(error, broken) and not isinstance(error, FatalError):
            raise FatalError(f"{self.name} cannot be unpacked: {error}", "is the file complete?") from error
