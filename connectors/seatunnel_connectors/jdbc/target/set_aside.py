"""Rows whose values are not of their columns' types: refused with their table, or set aside where the job allows it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from seatunnel_py.api import BadRowsError, Batch, Position, Rejected, TablePath

if TYPE_CHECKING:
    import pyarrow as pa

Make: TypeAlias = "Callable[[int, int], pa.RecordBatch]"
"""So many rows from a first one on, as declared. ValueError where one of them is not."""


def elements(
    path: TablePath, rows: int, make: Make, row: Callable[[int], Mapping[str, Any]], *, start: Position | None,
    end: Position | None, tolerant: bool, what: str, remedy: str,
) -> Iterator[Batch | Rejected]:  # fmt: skip
    """Rows that a database returned at once: one batch, or, if the job allows bad rows, the good and the rejected
    ones. ``row`` returns a row's original values."""
    try:
        whole = make(0, rows)
    except ValueError as error:
        if not tolerant:
            raise BadRowsError(
                f"{what}: {error}", remedy
            ) from None  # the engine looks again, if the job allows bad rows
    else:
        yield Batch(path, whole, end=end, start=start)
        return
    import pyarrow as pa  # drivers import this module, and do not need it

    good, bad = _told_apart(rows, make)
    for data in good:
        yield Batch(path, data, start=start)
        start = None
    raw = pa.array([json.dumps(row(at), default=_plain, ensure_ascii=False).encode() for at in bad], pa.binary())
    reasons = tuple(f"{what}: {reason}" for reason in bad.values())
    yield Rejected(path, pa.RecordBatch.from_arrays([raw], names=["raw"]), reasons, end)


def _told_apart(rows: int, make: Make) -> tuple[list[pa.RecordBatch], dict[int, str]]:
    good: list[pa.RecordBatch] = []
    bad: dict[int, str] = {}
    stretches = [(0, rows)]
    while stretches:
        first, length = stretches.pop()
        try:
            good.append(make(first, length))
        except ValueError as error:
            if length == 1:
                bad[first] = str(error)
            else:
                half = length // 2
                stretches += [(first + half, length - half), (first, half)]
    return good, bad


def _plain(value: Any) -> str:
    """Values that JSON has not: bytes as hexadecimal digits, others as their text."""
    return bytes(value).hex() if isinstance(value, bytes | bytearray | memoryview) else str(value)
