"""Reads and writes segments: files with the batches of a channel between two vertices.

One file holds the batches of one unit, of any number of tables, each as its own Arrow IPC stream::

    stream 0 | padding | stream 1 | padding | … | index (JSON) | length of the index, its CRC, magic

The index holds offset, length and CRC of every stream. The parts of a batch beside its columns travel inside the
stream: row kinds, absent marks and metadata as columns under a reserved prefix, table and positions as schema metadata.
A segment appears under its name when it is complete, and never changes again.
"""

from __future__ import annotations

import json
import os
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from seatunnel_py.api.batch import Batch, Position
from seatunnel_py.api.plain_data import plain_data
from seatunnel_py.api.process.private_files import private_directory, private_output
from seatunnel_py.api.schema import TablePath
from seatunnel_py.errors import FatalError, RetriableError
from seatunnel_py.work.segment_files import filesystem
from seatunnel_py.work.unit import Slice

if TYPE_CHECKING:
    from seatunnel_py.work.row_digest import RowDigest

RESERVED = "__seatunnel."
_KIND = f"{RESERVED}kind"
_ABSENT = f"{RESERVED}absent."
_METADATA = f"{RESERVED}metadata."
_BATCH = b"seatunnel.batch"

_MAGIC = b"STSEG\x00\x00\x01"
_TAIL = struct.Struct("<QI8s")
_ALIGNMENT = 64  # Arrow wants its buffers aligned, and a stream aligns them only from its own start
_OBJECT_STORES = frozenset({"s3", "gcs", "abfs"})  # an object appears whole, when it is closed
_MAPPED_SEGMENTS_MAX = 16  # a unit reads few segments, one after the other


class SegmentError(ValueError):
    """A segment does not match its handle: cut off, damaged, or another file."""


class SegmentWriter:
    """Writes one segment. Memory is bounded by the largest batch. ``setting`` is the option that names the location;
    ``contents`` computes the digests of a slice's tables, which only channels need."""

    def __init__(
        self, location: str, name: str, setting: str = "exchange.location", contents: RowDigest | None = None
    ) -> None:
        self._location = location
        self._contents = contents
        self._setting = setting
        self._files, directory = filesystem(location)
        file = f"{_plain_name(name)}.segment"
        self.url = f"{location.rstrip('/')}/{file}"
        self._path = f"{directory.rstrip('/')}/{file}"
        self._renames = self._files.type_name not in _OBJECT_STORES
        self._written_path = f"{self._path}.part" if self._renames else self._path
        with self._writing():
            private_directory(self._files, directory)
            self._out = private_output(self._files, self._written_path)
        self._at = 0
        self._entries: list[tuple[int, int, int]] = []
        self._batches: list[tuple[TablePath, int, int]] = []

    def add(self, batch: Batch) -> None:
        """Append one batch."""
        encoded = _encode(batch)
        self._put(b"\x00" * (-self._at % _ALIGNMENT))
        self._entries.append((self._at, encoded.size, zlib.crc32(encoded)))
        self._batches.append((batch.table, batch.rows, encoded.size))
        self._put(encoded)
        if self._contents is not None:
            self._contents.add(batch)

    def finish(self, channel: str) -> tuple[Slice, ...]:
        """Make the segment visible. ``sequence`` counts within it; the driver numbers the whole channel."""
        index = json.dumps(self._entries).encode()
        self._put(index)
        self._put(_TAIL.pack(len(index), zlib.crc32(index), _MAGIC))
        with self._writing():
            self._out.close()
            if self._renames:
                self._files.move(self._written_path, self._path)
        tables = {table for table, _, _ in self._batches}
        crcs = dict.fromkeys(tables, 0) if self._contents is None else {one: self._contents.crc(one) for one in tables}
        return tuple(
            Slice(channel, number, table, self.url, number, rows, size, crcs[table])
            for number, (table, rows, size) in enumerate(self._batches)
        )

    def abort(self) -> None:
        self._out.close()
        self._files.delete_file(self._written_path)

    def _put(self, data: bytes | pa.Buffer) -> None:
        with self._writing():
            self._out.write(data)
        self._at += len(data)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Wraps writing: Arrow's error for a full disk names no place, and the changing name of an attempt would not
        help."""
        try:
            yield
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise RetriableError(
                f"cannot write to {self._location}: {why}",
                f"check space and permissions there, or choose another place: env.{self._setting} sets it",
            ) from error


def _plain_name(name: str) -> str:
    """Vertex ids may hold any character of a job file; a file's name must be literal in a path and in a URL."""
    if re.fullmatch(r"[A-Za-z0-9._-]+", name):
        return name
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '_', name)}-{zlib.crc32(name.encode()):08x}"


def read_slices(slices: Iterable[Slice]) -> Iterator[Batch]:
    """The batches of the handles, in their order. FatalError where a table has stopped."""
    for item in slices:
        if item.stopped is not None:
            raise FatalError(*item.stopped)
        yield read_slice(item.segment, item.index)


def batches_of(segment: str) -> Iterator[Batch]:
    """All batches of a segment in its current state, even if it was rewritten under its name."""
    data = _load.__wrapped__(segment)
    for index in range(len(_entries(data, segment))):
        yield _batch(data, segment, index)


def read_slice(segment: str, index: int) -> Batch:
    """One batch. A local segment is mapped, so only the pages of that batch are read."""
    return _batch(_load(segment), segment, index)


def _batch(data: pa.Buffer, segment: str, index: int) -> Batch:
    entries = _entries(data, segment)
    if not 0 <= index < len(entries):
        raise SegmentError(f"segment {segment} holds {len(entries)} batches: there is no batch {index}")
    offset, length, crc = entries[index]
    encoded = data.slice(offset, length)
    if zlib.crc32(encoded) != crc:
        raise SegmentError(f"segment {segment} is damaged: batch {index} does not match its checksum")
    return _decode(encoded)


@lru_cache(maxsize=_MAPPED_SEGMENTS_MAX)
def _load(segment: str) -> pa.Buffer:
    files, path = filesystem(segment)
    if files.type_name == "local":
        return pa.memory_map(path).read_buffer()
    with files.open_input_file(path) as file:
        return file.read_buffer()


def _entries(data: pa.Buffer, segment: str) -> list[tuple[int, int, int]]:
    if data.size < _TAIL.size:
        raise SegmentError(f"segment {segment} is cut off")
    length, crc, magic = _TAIL.unpack(data.slice(data.size - _TAIL.size))
    index = data.slice(max(data.size - _TAIL.size - length, 0), length).to_pybytes()
    if magic != _MAGIC or zlib.crc32(index) != crc:
        raise SegmentError(f"segment {segment} is cut off or damaged")
    entries: list[tuple[int, int, int]] = json.loads(index)
    return entries


# ---------------------------------------------------------------- one batch as an Arrow stream


def _encode(batch: Batch) -> pa.Buffer:
    columns, fields = list(batch.data.columns), list(batch.data.schema)

    def carry(name: str, values: pa.Array) -> None:
        columns.append(values)
        fields.append(pa.field(name, values.type))

    if batch.kinds is not None:
        carry(_KIND, batch.kinds)
    if batch.absent is not None:
        for name, marks in zip(batch.absent.schema.names, batch.absent.columns, strict=True):
            carry(_ABSENT + name, marks)
    for name, values in batch.metadata.items():
        carry(_METADATA + name, values)
    about = {
        "table": plain_data(batch.table),
        "start": _plain(batch.start),
        "end": _plain(batch.end),
        "schema_version": batch.schema_version,
    }
    own = batch.data.schema.metadata or {}
    schema = pa.schema(fields, metadata={**own, _BATCH: json.dumps(about).encode()})
    data = pa.RecordBatch.from_arrays(columns, schema=schema)
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as stream:
        stream.write_batch(data)
    return out.getvalue()


def _decode(encoded: pa.Buffer) -> Batch:
    data = pa.ipc.open_stream(encoded).read_next_batch()
    about = json.loads(data.schema.metadata[_BATCH])
    names = data.schema.names
    own = {key: value for key, value in data.schema.metadata.items() if key != _BATCH}
    kinds = data.column(_KIND) if _KIND in names else None
    absent = _prefixed(data, _ABSENT)
    fields = [field for field in data.schema if not field.name.startswith(RESERVED)]
    # The parts beside the columns come after them.
    rows = pa.RecordBatch.from_arrays(data.columns[: len(fields)], schema=pa.schema(fields, metadata=own or None))
    return Batch(
        table=TablePath(**about["table"]),
        data=rows,
        end=_position(about["end"]),
        start=_position(about["start"]),
        kinds=kinds,
        schema_version=about["schema_version"],
        absent=pa.RecordBatch.from_pydict(absent) if absent else None,
        metadata=_prefixed(data, _METADATA),
    )


def _prefixed(data: pa.RecordBatch, prefix: str) -> dict[str, pa.Array]:
    return {
        name.removeprefix(prefix): column
        for name, column in zip(data.schema.names, data.columns, strict=True)
        if name.startswith(prefix)
    }


def _plain(position: Position | None) -> dict[str, Any] | None:
    return plain_data(position) if position else None


def _position(plain: Mapping[str, Any] | None) -> Position | None:
    return Position(**plain) if plain else None
