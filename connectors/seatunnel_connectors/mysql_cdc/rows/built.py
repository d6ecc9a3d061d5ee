"""Defines the result of decoding a column: an Arrow array, and the cells whose values have no counterpart in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from seatunnel_connectors.jdbc.mysql.read.cells import Flags, RowCells

if TYPE_CHECKING:
    import pyarrow as pa


class Built(NamedTuple):
    """``misfits`` holds row and text of each value that the column's type cannot hold; the array is null there."""

    array: pa.Array
    misfits: tuple[tuple[int, str], ...] = ()


Build: TypeAlias = Callable[[RowCells], Built]


def misfits_of(bad: Flags, text: Callable[[int], str]) -> tuple[tuple[int, str], ...]:
    """The rows that are flagged, with their values as the server shows them."""
    return tuple((row, text(row)) for row in np.flatnonzero(bad).tolist())


def without(valid: Flags | None, bad: Flags) -> Flags | None:
    """Flags of the cells that are there and not flagged as bad."""
    if not bad.any():
        return valid
    return ~bad if valid is None else valid & ~bad


def there(cells: RowCells, flags: Flags) -> Flags:
    """The flags of cells that are not null: bytes of a null cell are those of another."""
    return flags if cells.valid is None else flags & cells.valid


def each(cells: RowCells, convert: Callable[[bytes], Any], kind: pa.DataType) -> Built:
    """Convert cells one at a time, for types that are rare. A ValueError's text is the reason of a misfit."""
    import pyarrow as pa

    values: list[Any] = []
    misfits: list[tuple[int, str]] = []
    for row, value in enumerate(cells.values()):
        try:
            values.append(None if value is None else convert(value))
        except ValueError as error:
            values.append(None)
            misfits.append((row, str(error)))
    return Built(pa.array(values, kind), tuple(misfits))


def joined(parts: Iterable[tuple[tuple[int, str], ...]]) -> tuple[tuple[int, str], ...]:
    """Misfits of several conversions of the same column."""
    return tuple(one for part in parts for one in part)
