"""Builds columns of ENUM, SET and BIT, whose cells are numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seatunnel_connectors.jdbc.mysql.read.cells import RowCells, bitmap
from seatunnel_connectors.mysql_cdc.log.column_types import ColumnStorage
from seatunnel_connectors.mysql_cdc.rows.built import Build, Built, misfits_of, there, without


def enums(storage: ColumnStorage, words: Sequence[str]) -> Build:
    """The number of the word from 1; 0 is the empty text of a value that was invalid."""
    shown = pa.array(["", *words], pa.string())

    def build(cells: RowCells) -> Built:
        numbers = cells.little_endian(storage.width).astype(np.int64)
        bad = there(cells, numbers > len(words))
        places = np.where(numbers > len(words), 0, numbers)
        validity = bitmap(without(cells.valid, bad))
        array = shown.take(pa.Array.from_buffers(pa.int64(), cells.count, [validity, pa.py_buffer(places)]))
        return Built(array, misfits_of(bad, lambda row: f"word {numbers[row]} of {len(words)}"))

    return build


def sets(storage: ColumnStorage, words: Sequence[str]) -> Build:
    """A bit for each word, the first one lowest."""

    def build(cells: RowCells) -> Built:
        masks = cells.little_endian(storage.width)
        bad = there(cells, masks >> np.uint64(len(words)) > 0) if len(words) < 64 else np.zeros(cells.count, np.bool_)
        distinct, places = np.unique(masks, return_inverse=True)
        shown = pa.array(
            [",".join(word for i, word in enumerate(words) if mask >> i & 1) for mask in distinct.tolist()], pa.string()
        )
        validity = bitmap(without(cells.valid, bad))
        indices = pa.py_buffer(np.ascontiguousarray(places.reshape(-1).astype(np.int64)))
        array = shown.take(pa.Array.from_buffers(pa.int64(), cells.count, [validity, indices]))
        return Built(array, misfits_of(bad, lambda row: f"the bits {int(masks[row]):#b} of {len(words)} words"))

    return build


def bits(storage: ColumnStorage, kind: pa.DataType) -> Build:
    """BIT(1) is a boolean; wider ones are bytes, the highest first."""
    if not pa.types.is_boolean(kind):
        return lambda cells: Built(cells.binary())

    def build(cells: RowCells) -> Built:
        values = cells.big_endian(storage.width) > 0
        data = pa.py_buffer(np.packbits(values, bitorder="little"))
        return Built(pa.Array.from_buffers(pa.bool_(), cells.count, [cells.validity(), data]))

    return build
