"""Change logs: which staged row of each key decides."""

from __future__ import annotations

import pyarrow as pa

from seatunnel_connectors.jdbc.postgres.write.last_rows import folded, last_counts
from seatunnel_connectors.jdbc.postgres.write.merge import KIND, ORDER


def staged(*rows: tuple[int, int, int]) -> pa.Table:
    """Rows of (key, order, kind)."""
    keys, orders, kinds = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {"id": pa.array(keys, pa.int64()), ORDER: pa.array(orders, pa.int64()), KIND: pa.array(kinds, pa.int16())}
    )


def test_the_last_row_of_each_key_decides() -> None:
    """Orders have gaps where UPDATE_BEFORE rows were left out: an order is no position."""
    rows = staged((1, 0, 0), (2, 1, 0), (1, 4, 2), (2, 5, 3))

    assert last_counts(rows, ("id",)) == (2, 1)


def test_folded_rows_keep_their_order_and_an_inserted_row_is_an_insert() -> None:
    rows = staged((5, 0, 2), (1, 1, 0), (2, 2, 2), (1, 4, 2), (5, 5, 3), (2, 7, 2))

    assert [tuple(row.values()) for row in folded(rows, ("id",)).to_pylist()] == [(1, 4, 0), (5, 5, 3), (2, 7, 2)]


def test_nothing_staged_decides_nothing() -> None:
    """A block of UPDATE_BEFORE rows alone."""
    assert last_counts(staged(), ("id",)) == (0, 0)
    assert folded(staged(), ("id",)).num_rows == 0
