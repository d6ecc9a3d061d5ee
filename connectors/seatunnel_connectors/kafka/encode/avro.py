"""Encodes the format avro: a row as ``decode/avro.py`` reads it, without a header.

Values that this Avro schema cannot hold are refused, not changed: a timestamp finer than milliseconds, a date outside
of the years 1 to 9999, a null nested row.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from seatunnel_connectors.kafka.schemas.avro_types import record_of
from seatunnel_py.api import BadRowsError, Column
from seatunnel_py.formats.value_text import iso_text, leaves
from seatunnel_py.formats.value_text.moments import days_of

if TYPE_CHECKING:
    import pyarrow as pa


FIRST_DAY, LAST_DAY = days_of(1, 1, 1), days_of(9999, 12, 31)


def avro_values(columns: Sequence[Column], batch: pa.RecordBatch) -> pa.Array:
    """Return one value for each row. Raises BadRowsError."""
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
            raise BadRowsError(
                f"row {number + 1} of a batch is not to be written as Avro: {error}",
                "make it fit before the sink, or choose another format",
            ) from None
        values.append(stream.getvalue())
    return pa.array(values, pa.binary())


def _check_moments(columns: Sequence[Column], batch: pa.RecordBatch) -> None:
    """Check dates and timestamps at any depth: Avro's library truncates finer values, and knows Python's years only."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for column in columns:
        for leaf in leaves(batch.column(column.name)):
            if not pa.types.is_temporal(leaf.type):
                continue
            days = leaf.cast(pa.date32()).cast(pa.int32())
            span = pc.min_max(days).as_py()
            if span["min"] is not None and not FIRST_DAY <= span["min"] <= span["max"] <= LAST_DAY:
                raise BadRowsError(
                    f"column {column.name!r}: a date is not within the years 1 to 9999", "correct it before the sink"
                )
            if pa.types.is_timestamp(leaf.type):
                _check_fraction(column.name, leaf)


def _check_fraction(name: str, leaf: pa.Array) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    ticks = leaf.cast(pa.int64())
    fine = pc.not_equal(pc.multiply(pc.divide(ticks, 1000), 1000), ticks)
    at = pc.index(fine, pa.scalar(True)).as_py()
    if at >= 0:
        raise BadRowsError(
            f"column {name!r}: {iso_text(leaf.slice(at, 1))[0]} is finer than the milliseconds that Avro holds",
            "round it before the sink: date_trunc('MILLISECOND', …) in a Sql transform",
        )
