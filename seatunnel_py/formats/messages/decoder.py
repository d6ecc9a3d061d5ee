"""Base of the decoders from messages to rows; separates good messages from bad ones.

A message without a value (a tombstone, or an empty one) gives no row, as in SeaTunnel, except in native and protobuf.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_py.api import Column, DataType, Kind, TableSchema, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa


class BadMessageError(Exception):
    """A message does not match the format; ``index`` is its index among the given messages."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(index, reason)
        self.index, self.reason = index, reason


@dataclass(frozen=True, slots=True)
class Decoded:
    """Decoded rows with their kinds and the messages that they came from; None: all inserts, one row per message."""

    data: pa.RecordBatch
    kinds: pa.UInt8Array | None = None
    parents: pa.Array | None = None


class Decoder(ABC):
    """Decodes the messages of one table; created in a worker. ``with_headers``: it needs the headers;
    ``takes_empty``: an empty value is also a row, and only a tombstone gives none."""

    with_headers: ClassVar[bool] = False
    takes_empty: ClassVar[bool] = False

    def __init__(self, table: TableSchema) -> None:
        self.columns: tuple[Column, ...] = table.columns
        self.schema: pa.Schema = table.arrow()

    @abstractmethod
    def decode(self, values: Sequence[Any]) -> Decoded:
        """Decode the result of ``values`` to rows, in order. Raises BadMessageError for the first bad message."""

    def values(self, records: Any) -> Sequence[Any]:
        """The part of each record to decode, by default its value. An empty part gives no row."""
        found: Sequence[Any] = records.values
        return found

    def batch(self, arrays: Sequence[Any]) -> pa.RecordBatch:
        import pyarrow as pa

        return pa.RecordBatch.from_arrays(list(arrays), schema=self.schema)


def row_type(columns: Sequence[Column]) -> DataType:
    """Row type that holds all columns, for nesting."""
    return DataType(Kind.ROW, fields=tuple((column.name, column.dtype) for column in columns))


def decode_good(decoder: Decoder, values: Sequence[Any]) -> tuple[Decoded, Mapping[int, str]]:
    """Decode the good messages in one pass; also return the cause for each bad message, by index."""
    try:
        return decoder.decode(values), {}
    except BadMessageError:
        good, bad = decode_some(decoder, values)
        return joined(good, decoder), bad


def decode_some(decoder: Decoder, values: Sequence[Any]) -> tuple[list[Decoded], dict[int, str]]:
    """Decode the good messages, in order; also return the cause for each bad message, by its index in ``values``. The
    list is halved until bad messages are found, so a bad one costs a few more passes, not one per message."""
    good: list[Decoded] = []
    bad: dict[int, str] = {}
    _halve(decoder, values, 0, good, bad)
    return good, bad


def _halve(decoder: Decoder, values: Sequence[Any], offset: int, good: list[Decoded], bad: dict[int, str]) -> None:
    if not values:
        return
    try:
        good.append(_moved(decoder.decode(values), len(values), offset))
    except BadMessageError as error:
        if len(values) == 1:
            bad[offset] = error.reason
            return
        middle = len(values) // 2
        _halve(decoder, values[:middle], offset, good, bad)
        _halve(decoder, values[middle:], offset + middle, good, bad)


def _moved(decoded: Decoded, messages: int, offset: int) -> Decoded:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if decoded.parents is None:
        parents = pa.array(np.arange(offset, offset + messages))
    else:
        parents = pc.add(decoded.parents, offset)
    return Decoded(decoded.data, decoded.kinds, parents)


def joined(parts: Sequence[Decoded], decoder: Decoder) -> Decoded:
    """Concatenate several decoded parts."""
    import pyarrow as pa

    if len(parts) == 1:
        return parts[0]
    arrays = [pa.array([], to_arrow(column.dtype)) for column in decoder.columns]
    table = pa.Table.from_batches([decoder.batch(arrays), *(part.data for part in parts)]).combine_chunks()
    data = table.to_batches()[0] if table.num_rows else decoder.batch(arrays)
    kinds = None
    if any(part.kinds is not None for part in parts):
        zeros = [part.kinds if part.kinds is not None else _inserts(part.data.num_rows) for part in parts]
        kinds = pa.concat_arrays(zeros)
    empty = pa.array([], pa.int64())
    return Decoded(data, kinds, pa.concat_arrays([empty, *(part.parents for part in parts)]))


def _inserts(rows: int) -> pa.Array:
    import pyarrow as pa

    return pa.repeat(pa.scalar(0, pa.uint8()), rows)
