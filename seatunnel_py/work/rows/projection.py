"""Gives the rows of a followed table the schema that later steps have (``SourceTable.projection``).

Columns are matched by name; one that the source has no longer is null."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from seatunnel_py.api.batch import Batch
from seatunnel_py.api.schema import TableSchema

if TYPE_CHECKING:
    import pyarrow as pa


def projected(batch: Batch, schema: TableSchema) -> Batch:
    """The batch in this schema. A type of the source that differs is converted; the plan has proved that this is exact
    (``followed_schema.py``)."""
    import pyarrow as pa

    wanted = schema.arrow()
    columns = [_column(batch, one) for one in wanted]
    absent = batch.absent and pa.RecordBatch.from_arrays(
        [_absent(batch.absent, name) for name in wanted.names], names=wanted.names
    )
    return replace(batch, data=pa.RecordBatch.from_arrays(columns, schema=wanted), absent=absent)


def _column(batch: Batch, wanted: pa.Field) -> pa.Array:
    import pyarrow as pa

    at = batch.data.schema.get_field_index(wanted.name)
    if at < 0:
        return pa.nulls(batch.rows, wanted.type)
    found = batch.data.column(at)
    return found if found.type == wanted.type else found.cast(wanted.type)


def _absent(absent: pa.RecordBatch, name: str) -> pa.Array:
    import pyarrow as pa

    at = absent.schema.get_field_index(name)
    return absent.column(at) if at >= 0 else pa.array([False] * absent.num_rows, pa.bool_())
