"""Change logs: which staged row of each key decides."""

from __future__ import annotations

import pyarrow as pa

from seatunnel_connectors.jdbc.postgres.write.copy_loader import KIND, ORDER, _last_rows


def staged(*rows: tuple[int, int, int]) -> pa.Table:
    """Rows of (key, order, kind)."""
    keys, orders, kinds = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {"id": pa.array(keys, pa.int64()), ORDER: pa.array(orders, pa.int64()), KIND: pa.array(kinds, pa.int16())}
    )


def test_the_last_row_of_each_key_decides() -> None:
    """Orders have gaps where UPDATE_BEFORE rows were left out: an order is no position."""
    rows = staged((1, 0, 0), (2, 1, 0), (1, 4, 2), (2, 5, 3))

    assert _last_rows(rows, ("id",)).to_pylist() == [{ORDER: 4, KIND: 2}, {ORDER: 5, KIND: 3}]


def test_nothing_staged_decides_nothing() -> None:
    """A block of UPDATE_BEFORE rows alone."""
    assert _last_rows(staged(), ("id",)).num_rows == 0
