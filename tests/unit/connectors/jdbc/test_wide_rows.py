"""How many rows are asked for at a time: by what a table's rows weigh, which nobody knows exactly."""

from __future__ import annotations

import pytest

from seatunnel_connectors.jdbc.mysql.read.reader import rows_within
from seatunnel_py.api import Column, DataType, Kind, SourceTable, TablePath, TableSchema

SCHEMA = TableSchema(TablePath.parse("d.t"), (Column("id", DataType(Kind.BIGINT)),))


@pytest.mark.parametrize(
    ("rows", "size", "wanted"),
    [
        (1_000, 100_000, 100),  # narrow: as many as ever
        (1_000, 1_000 << 20, 16),  # of 1 MB each
        (3, 3 << 30, 1),  # each of them more than a batch
        (0, 16_384, 100),  # statistics that are not there yet
        (None, None, 100),  # a query
    ],
)
def test_a_batch_has_room(rows: int | None, size: int | None, wanted: int) -> None:
    assert rows_within(16 << 20, 100, SourceTable(SCHEMA, rows, size, {})) == wanted
