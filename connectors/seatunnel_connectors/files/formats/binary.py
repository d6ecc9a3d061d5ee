"""Reads the format binary: files as they are, in rows of (data, relativePath, partIndex)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from seatunnel_connectors.files.formats.base import FormatReader, Layout, Place, batch_of
from seatunnel_connectors.files.read.document import WHOLE_BYTES_MAX, Document
from seatunnel_connectors.files.storage import path_of
from seatunnel_py.api import Column, DataType, FatalError, Kind

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 4 * 1024 * 1024

COLUMNS = (
    Column("data", DataType(Kind.BYTES)),
    Column("relativePath", DataType(Kind.STRING)),
    Column("partIndex", DataType(Kind.BIGINT)),
)


class BinaryReader(FormatReader):
    """Cuts a file into rows. A file is one unit, not resumable inside, because one unit writes it, too."""

    def fixed_columns(self) -> tuple[Column, ...]:
        return COLUMNS

    def read(
        self, document: Document, layout: Layout, part: Place, start: Place | None
    ) -> Iterator[tuple[pa.RecordBatch, Place | None]]:
        import pyarrow as pa

        chunk = self.options.binary_chunk_size
        name, index = self._relative(document), 0
        for content in self._blocks(document, chunk):
            count = 1 if self.options.binary_complete_file_mode else -(-len(content) // chunk)
            size = len(content) if self.options.binary_complete_file_mode else chunk
            ends = [min(end * size, len(content)) for end in range(count + 1)]
            offsets = pa.py_buffer(pa.array(ends, pa.int32()).buffers()[1])
            data = pa.Array.from_buffers(pa.binary(), count, [None, offsets, pa.py_buffer(content)])
            found = {
                "data": data,
                "relativePath": pa.repeat(pa.scalar(name), count),
                "partIndex": pa.array(range(index, index + count), pa.int64()),
            }
            index += count
            yield batch_of(layout, [found[column] for column in layout.wanted], count), None

    def _blocks(self, document: Document, chunk: int) -> Iterator[bytes]:
        """Yield blocks of whole chunks."""
        with closing(document.stream()) as stream:
            if self.options.binary_complete_file_mode:
                content = bytes(stream.read(WHOLE_BYTES_MAX))
                if len(content) == WHOLE_BYTES_MAX:
                    raise FatalError(f"{document.name} is too big for one row", "set binary_complete_file_mode = false")
                yield content
                return
            size = max(BLOCK_BYTES // chunk, 1) * chunk
            while content := _full(stream.read, size):
                yield content

    def _relative(self, document: Document) -> str:
        """Path below the source's path; an archive's members are below the archive's directory."""
        root = PurePosixPath(path_of(self.options.path or ""))
        path = PurePosixPath(document.entry.path)
        if document.member:
            path = path.parent / str(document.member["name"])
        return path.name if path == root else str(path.relative_to(root if root in path.parents else path.parent))


def _full(read: object, size: int) -> bytes:
    """Read as much as requested, unless the stream ends."""
    assert callable(read)
    content = b""
    while len(content) < size and (chunk := bytes(read(size - len(content)))):
        content += chunk
    return content
