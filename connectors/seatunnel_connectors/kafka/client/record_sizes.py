"""Computes record sizes in bytes: key, value and headers, as they are sent and counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

HEADER = "header."


def record_sizes(records: pa.RecordBatch) -> pa.Array:
    """Size of each record, without the few bytes of framing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    sizes: Any = pa.repeat(pa.scalar(0, pa.int64()), records.num_rows)
    for name, values in zip(records.schema.names, records.columns, strict=True):
        if name in ("key", "value") or name.startswith(HEADER):
            own = len(name.removeprefix(HEADER).encode()) if name.startswith(HEADER) else 0
            sizes = pc.add(sizes, pc.fill_null(pc.add(pc.binary_length(values), own).cast(pa.int64()), 0))
        elif name == "headers":
            sizes = pc.add(sizes, pa.array(map(_pairs_size, values.to_pylist()), pa.int64()))
    return sizes


def total_size(records: pa.RecordBatch) -> int:
    """Total size of all records."""
    import pyarrow.compute as pc

    return int(pc.sum(record_sizes(records)).as_py() or 0)


def _pairs_size(pairs: list[tuple[str, bytes | None]] | None) -> int:
    return sum(len(name.encode()) + len(value or b"") for name, value in pairs or ())
