"""Which rows an update of the binary log gives."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from seatunnel_connectors.mysql_cdc.log_rows import as_changes
from seatunnel_py.api import Column, DataType, Kind, PrimaryKey, RowKind, TablePath, TableSchema

COMES, BEFORE, AFTER, GOES = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE
COLUMNS = (Column("id", DataType(Kind.INT)), Column("note", DataType(Kind.STRING)))
KEYED = TableSchema(TablePath("shop", "", "t"), COLUMNS, PrimaryKey(("id",)))
ROWS = [(COMES, 1, "a"), (BEFORE, 1, "a"), (AFTER, 1, "b"), (BEFORE, 1, "b"), (AFTER, 2, "b"), (GOES, 2, "b")]
MOVED = [(GOES, 1, "b"), (COMES, 2, "b"), (GOES, 2, "b")]


@pytest.mark.parametrize(
    ("images", "wanted"),
    [
        (False, [(COMES, 1, "a"), (AFTER, 1, "b"), *MOVED]),
        (True, [(COMES, 1, "a"), (BEFORE, 1, "a"), (AFTER, 1, "b"), *MOVED]),
    ],
    ids=["for targets by key", "for change logs"],
)
def test_an_update_gives_the_row_before_it_only_where_that_is_stored(
    images: bool, wanted: list[tuple[int, int, str]]
) -> None:
    """F-C46: a change of the key is a delete and an insert for both."""
    data = pa.record_batch([[one[1] for one in ROWS], [one[2] for one in ROWS]], schema=KEYED.arrow())

    kinds, keep = as_changes(data, np.array([one[0] for one in ROWS], np.uint8), KEYED, before_images=images)

    kept = data.filter(pa.array(keep)).to_pylist()
    found = [(kind, row["id"], row["note"]) for kind, row in zip(kinds[keep].tolist(), kept, strict=True)]
    assert found == wanted
