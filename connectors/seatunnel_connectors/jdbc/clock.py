"""Texts of times of day."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

DAY = {"us": 86_400_000_000, "ns": 86_400_000_000_000}
END_OF_DAY = "24:00:00"


def time_text(array: pa.Array) -> pa.Array:
    """Times as ISO text. The end of the day is a time in PostgreSQL and MySQL, and none in Arrow's own text."""
    at_end = pc.equal(array.cast(pa.int64()), DAY[array.type.unit])
    if not pc.any(at_end).as_py():
        return array.cast(pa.string())
    others = pc.if_else(at_end, pa.scalar(None, array.type), array).cast(pa.string())
    return pc.if_else(at_end, END_OF_DAY, others)
