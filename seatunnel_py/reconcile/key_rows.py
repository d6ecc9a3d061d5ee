"""Makes batches for a sink that writes by key: rows of one kind, and removals of rows that the target holds. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seatunnel_py.api.batch import Batch, RowKind
from seatunnel_py.api.schema import TablePath, TableSchema
from seatunnel_py.api.types import ValueMisfitError, convert, to_arrow
from seatunnel_py.errors import COPY_AGAIN, FatalError
from seatunnel_py.reconcile.comparisons import TableComparison
from seatunnel_py.reconcile.looks import WantedKeys
from seatunnel_py.reconcile.row_hashes import combined, value_hashes

if TYPE_CHECKING:
    import pyarrow as pa


def rows_of_kind(table: TablePath, data: pa.RecordBatch, kind: RowKind) -> Batch:
    """Rows that are all of this kind."""
    import numpy as np
    import pyarrow as pa

    return Batch(table, data, kinds=pa.array(np.full(data.num_rows, kind.value, np.uint8)))


def deletions(table: TableSchema, comparison: TableComparison, keys: pa.RecordBatch, wanted: WantedKeys) -> Batch:
    """Removals of the wanted ones of these keys, which are in the form of the comparison. Other columns are null."""
    import pyarrow as pa

    hashes = combined([value_hashes(keys.column(name)) for name in comparison.key], keys.num_rows)
    keys = keys.filter(pa.array(wanted.among(hashes)))
    forms = {pair.name: pair.source.form for pair in comparison.pairs[0]}
    arrays, fields = [], []
    for column in table.columns:
        arrow = to_arrow(column.dtype)
        array = pa.nulls(keys.num_rows, arrow)
        if column.name in comparison.key:
            given, form = keys.column(column.name), forms[column.name]
            try:
                array = given if form == column.dtype else convert(given, form, column.dtype)
            except (ValueMisfitError, ValueError) as error:
                raise FatalError(
                    f"table {table.path}: a key of the target is not one that column {column.name!r} can have: {error}",
                    f"delete the row with a statement of your own; or {COPY_AGAIN}",
                ) from error
        arrays.append(array)
        fields.append(pa.field(column.name, arrow))
    data = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
    return rows_of_kind(table.path, data, RowKind.DELETE)
