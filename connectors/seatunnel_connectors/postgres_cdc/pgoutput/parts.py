"""Divides rows of the log into parts that are decoded together.

Decoding takes about 80 bytes of memory for each cell, whatever it holds: many times the size of the messages where
values are short or null. So parts are bounded by their cells, not by their bytes. Tables are decoded one after the
other: only the cells of one count, and a part with rows of many tables may be long.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seatunnel_connectors.postgres_cdc.pgoutput.messages import Numbers

CELLS_MAX = 1 << 16
"""Cells of one table in a part. More make decoding no faster."""
ROWS_MIN = 256
"""Rows that are not divided, however wide their table is: a batch costs the same for each of its columns."""


def ends_of_parts(oids: Numbers, width: Callable[[int], int]) -> list[int]:
    """The places where a part ends and another one begins. ``oids`` is the table of each row; ``width`` gives the
    number of its columns."""
    if not len(oids):
        return []
    if (oids == oids[0]).all():
        step = _rows_max(width(int(oids[0])))
        return [*range(step, len(oids), step)]
    tables, of = np.unique(oids, return_inverse=True)
    most = np.array([_rows_max(width(oid)) for oid in tables.tolist()], np.int64)
    step = int(most.min()) // 2
    found, rows = list[int](), np.zeros(len(tables), np.int64)
    for first in range(0, len(oids), step):
        more = np.bincount(of[first : first + step], minlength=len(tables))
        if (rows + more > most).any():
            found.append(first)
            rows[:] = 0
        rows += more
    return found


def _rows_max(columns: int) -> int:
    return max(CELLS_MAX // max(columns, 1), ROWS_MIN)
