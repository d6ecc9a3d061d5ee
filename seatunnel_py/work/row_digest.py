"""Computes the digest of the rows of a segment, one checksum for each table, independent of batch boundaries (I22).

Batch boundaries depend on timing: how much a broker had sent just then, whether bad rows were taken out of the middle.
Rows that come again in other batches are the same rows. Every buffer is summed up as if the batches were one: values
without nulls, lengths of texts, and the row numbers of the nulls. Missing kinds or marks equal kinds or marks without
special values. Positions do not count.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_py.api.batch import Batch
from seatunnel_py.api.schema import TablePath


class RowDigest:
    """Digest of one unit's rows for one channel."""

    def __init__(self) -> None:
        self._of: dict[TablePath, _RowHasher] = {}

    def add(self, batch: Batch) -> None:
        """Add the next rows of a table."""
        self._of.setdefault(batch.table, _RowHasher()).add(batch)

    def crc(self, table: TablePath) -> int:
        """Digest of all rows of a table so far, in their order."""
        return self._of[table].crc


class _RowHasher:
    def __init__(self) -> None:
        self._rows = 0
        self._seen: dict[str, int] = {}
        self._crcs: dict[str, int] = {}

    @property
    def crc(self) -> int:
        return zlib.crc32(repr((self._rows, sorted(self._crcs.items()))).encode())

    def add(self, batch: Batch) -> None:
        for name, values in zip(batch.data.schema.names, batch.data.columns, strict=True):
            self._feed(f"column {name}", values)
        for name, values in batch.metadata.items():
            self._feed(f"metadata {name}", values)
        if batch.kinds is not None:
            self._feed_marked("kinds", batch.kinds)
        if batch.absent is not None:
            for name, marks in zip(batch.absent.schema.names, batch.absent.columns, strict=True):
                self._feed_marked(f"absent {name}", marks)
        self._rows += batch.rows

    def _feed_marked(self, path: str, marks: Any) -> None:
        """Sum up the numbers of the rows with a mark, and the marks."""
        values = np.asarray(marks.to_numpy(zero_copy_only=False)).astype(np.uint8)
        (at,) = np.nonzero(values)
        if len(at):
            self._sum(f"{path} at", at.astype(np.int64) + self._rows)
            self._sum(path, values[at])

    def _feed(self, path: str, values: Any) -> None:
        before = self._seen.get(path, 0)
        self._seen[path] = before + len(values)
        values = _plain(values)
        if values.null_count:
            nulls = pc.indices_nonzero(values.is_null()).to_numpy().astype(np.int64)
            self._sum(f"{path} null at", nulls + before)
            values = values.drop_null()
        if len(values):
            self._feed_present(path, values)

    def _feed_present(self, path: str, values: Any) -> None:
        kind = values.type
        if pa.types.is_struct(kind):
            for field, child in zip(kind, values.flatten(), strict=True):
                self._feed(f"{path}.{field.name}", child)
        elif pa.types.is_fixed_size_list(kind):
            self._feed(f"{path}[]", values.flatten())
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
            offsets = values.offsets.to_numpy().astype(np.int64)
            self._sum(f"{path} lengths", np.diff(offsets))
            self._feed(f"{path}[]", values.values.slice(offsets[0], offsets[-1] - offsets[0]))
        elif pa.types.is_binary(kind) or pa.types.is_string(kind):
            self._sum_texts(path, values, np.dtype(np.int32))
        elif pa.types.is_large_binary(kind) or pa.types.is_large_string(kind):
            self._sum_texts(path, values, np.dtype(np.int64))
        elif pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_fixed_size_binary(kind):
            width = kind.bit_width // 8
            self._sum(path, values.buffers()[1].slice(values.offset * width, len(values) * width))
        else:  # no type of ours arrives here; a transform may make any type
            self._sum(path, "".join(f"{value!r}\n" for value in values.to_pylist()).encode())

    def _sum_texts(self, path: str, values: Any, offset: np.dtype[Any]) -> None:
        _, offsets, data = values.buffers()
        ends = np.frombuffer(offsets, offset)[values.offset : values.offset + len(values) + 1]
        self._sum(f"{path} lengths", np.diff(ends).astype(np.int64))
        if data is not None:
            self._sum(path, data.slice(int(ends[0]), int(ends[-1] - ends[0])))

    def _sum(self, path: str, data: Any) -> None:
        self._crcs[path] = zlib.crc32(data, self._crcs.get(path, 0))


def _plain(values: Any) -> Any:
    """Unwrap extension and dictionary types, and widen bits to bytes."""
    if isinstance(values, pa.ExtensionArray):
        return _plain(values.storage)
    if pa.types.is_dictionary(values.type):
        return _plain(values.dictionary_decode())
    return values.cast(pa.uint8()) if pa.types.is_boolean(values.type) else values
