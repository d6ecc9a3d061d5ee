"""Reads a block with malformed records: reads the good ones, and keeps the bytes of the others.

Misfits of single values are found column by column; bytes that are not text, by halving the block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from seatunnel_connectors.files.formats.base import FormatReader, Layout, Place, Undecoded, batch_of
from seatunnel_connectors.files.read.document import Document
from seatunnel_connectors.files.read.record_blocks import Cutter, LineNumbers, RecordBlock, block_of, raw_blocks
from seatunnel_py.api import BadRowsError, to_arrow
from seatunnel_py.formats.value_text import MisfitError

if TYPE_CHECKING:
    import pyarrow as pa

NONE = Undecoded((), ())
FEW = 1024
"""Size of a chunk of values after a misfit: the values of the chunk that follow it are converted again."""

Sorted: TypeAlias = "tuple[pa.RecordBatch, Undecoded]"
Convert: TypeAlias = "Callable[[Any], pa.Array]"
"""Converts a list or array of values to a column. Raises MisfitError with the index of the first misfit."""


@dataclass(frozen=True, slots=True)
class Framing:
    """Finds the ends of records; ``row_end`` is the delimiter."""

    cut: Cutter
    row_end: bytes

    def middle(self, some: bytes) -> int:
        """Find a record's end near the middle of ``some``; 0: it is a single record."""
        at = len(some) // 2
        middle = self.cut(some[:at])
        while not middle:  # the first record is longer than half of the block
            at = some.find(self.row_end, at) + len(self.row_end)
            if at < len(self.row_end) or at >= len(some):
                return 0
            middle = self.cut(some[:at])
        return middle


def fitting(values: Any, convert: Convert, dtype: pa.DataType, *, tolerant: bool) -> tuple[pa.Array, dict[int, str]]:
    """Convert the values to a column. If ``tolerant``, misfits become null, and their causes are returned; else
    MisfitError is raised."""
    import pyarrow as pa

    try:
        return convert(values), {}
    except MisfitError:
        if not tolerant:
            raise
    parts: list[pa.Array] = []
    misfits: dict[int, str] = {}
    for first in range(0, len(values), FEW):
        _few(values[first : first + FEW], convert, dtype, first, parts, misfits)
    return pa.concat_arrays(parts), misfits


def _few(
    values: Any,
    convert: Convert,
    dtype: pa.DataType,
    first: int,
    parts: list[pa.Array],
    misfits: dict[int, str],
) -> None:
    import pyarrow as pa

    while len(values):
        try:
            parts.append(convert(values))
        except MisfitError as error:
            parts += [convert(values[: error.index]), pa.nulls(1, dtype)]
            misfits[first + error.index] = str(error)
            values, first = values[error.index + 1 :], first + error.index + 1
        else:
            return


def without(batch: pa.RecordBatch, rows: Iterable[int]) -> pa.RecordBatch:
    """The batch without these rows."""
    import pyarrow as pa

    kept = [True] * batch.num_rows
    for row in rows:
        kept[row] = False
    return batch if all(kept) else batch.filter(pa.array(kept))


def read_sorted(
    reader: FormatReader,
    document: Document,
    layout: Layout,
    framing: Framing,
    span: tuple[int, int | None],
    decode: Callable[[RecordBlock], Sorted],
) -> Iterator[tuple[pa.RecordBatch | Undecoded, Place | None]]:
    """Read all bytes of ``span``, block by block. ``decode`` raises BadRowsError; if the reader is tolerant, it returns
    the bad records."""
    encoding, cut, row_end = reader.options.encoding, framing.cut, framing.row_end
    numbers = LineNumbers(document, encoding, row_end)

    def decode_raw(raw: bytes, offset: int) -> Sorted:
        return decode(block_of(document, raw, offset, encoding, numbers))

    for raw, offset in raw_blocks(document, encoding, cut, begin=span[0], end=span[1]):
        numbers.passes(raw, offset)
        try:
            batch, undecoded = decode_raw(raw, offset)
        except BadRowsError:
            if not reader.tolerant:
                raise
            batch, undecoded = _by_halves(layout, raw, offset, decode_raw, framing)
        if undecoded.records:
            yield undecoded, None
        yield batch, {"offset": offset + len(raw)}


def _by_halves(
    layout: Layout, raw: bytes, offset: int, decode: Callable[[bytes, int], Sorted], framing: Framing
) -> Sorted:
    import pyarrow as pa

    good: list[pa.RecordBatch] = []
    bad: list[bytes] = []
    reasons: list[str] = []
    waiting = [(raw, offset)]
    while waiting:
        some, at = waiting.pop()
        try:
            batch, undecoded = decode(some, at)
        except BadRowsError as error:
            if middle := framing.middle(some):
                waiting += [(some[middle:], at + middle), (some[:middle], at)]
                continue
            undecoded = Undecoded((some.removesuffix(framing.row_end),), (error.message,))
        else:
            good.append(batch)
        bad += undecoded.records
        reasons += undecoded.reasons
    empty = batch_of(layout, [pa.array([], to_arrow(column.dtype)) for column in layout.output()], 0)
    whole = pa.Table.from_batches(good).combine_chunks().to_batches() if good else []
    return whole[0] if whole else empty, Undecoded(tuple(bad), tuple(reasons))
