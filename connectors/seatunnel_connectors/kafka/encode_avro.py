"""Format avro: a row as ``decode_avro.py`` reads it again, without a header.

What Avro of this schema cannot hold is refused, not changed: a timestamp finer than milliseconds, a nested row that is
null.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from seatunnel_connectors.kafka.avro_types import record_of
from seatunnel_py.api import BadRows, Column, Kind

if TYPE_CHECKING:
    import pyarrow as pa


def avro_values(columns: Sequence[Column], batch: pa.RecordBatch) -> pa.Array:
    """One value for each row. Raises BadRows."""
    import fastavro
    import pyarrow as pa

    schema = fastavro.parse_schema(record_of(columns))
    _check_moments(columns, batch)
    values = []
    for number, row in enumerate(batch.select([column.name for column in columns]).to_pylist(maps_as_pydicts="strict")):
        stream = io.BytesIO()
        try:
            fastavro.schemaless_writer(stream, schema, row)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise BadRows(
                f"row {number + 1} of a batch is not to be written as Avro: {error}",
                "make it fit before the sink, or choose another format",
            ) from None
        values.append(stream.getvalue())
    return pa.array(values, pa.binary())


def _check_moments(columns: Sequence[Column], batch: pa.RecordBatch) -> None:
    for column in columns:
        if column.dtype.kind is not Kind.TIMESTAMP:
            continue
        fine = next((value for value in batch.column(column.name).to_pylist() if value and _is_fine(value)), None)
        if fine is not None:
            raise BadRows(
                f"column {column.name!r}: {fine} is finer than the milliseconds that Avro holds",
                "round it before the sink: date_trunc('MILLISECOND', …) in a Sql transform",
            )


def _is_fine(moment: datetime) -> bool:
    return moment.microsecond % 1000 != 0
