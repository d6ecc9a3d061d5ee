"""Turns decoded blocks of the log into batches in the schema that the job was planned with.

An update gives the row after it; where it changes the key, a delete of the old row and an insert of the new one. The
rows before other updates are dropped unless a target stores them: one that writes by key does not need them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_connectors.mysql_cdc.reading.changes import TableBlock
from seatunnel_connectors.mysql_cdc.rows.table_decoder import RowMisfit
from seatunnel_py.api import (
    COPY_AGAIN,
    Batch,
    Position,
    ReadContext,
    Rejected,
    RowKind,
    TableSchema,
    TableStopped,
)

Mask = npt.NDArray[np.bool_]
RowElement = Batch | Rejected | TableStopped


def ending(elements: Iterator[RowElement], end: Position) -> Iterator[RowElement]:
    """The elements; the last one has this end, for a unit may stop only there."""
    held: RowElement | None = None
    for one in elements:
        if held is not None:
            yield held
        held = one
    if held is not None:
        yield replace(held, end=end)


def batches(block: TableBlock, schema: TableSchema, context: ReadContext) -> Iterator[RowElement]:
    """The rows of a block, none with an end. Rows with values that the columns cannot hold are rejected if the reading
    is tolerant; otherwise they stop the table."""
    rows = block.rows
    data = pa.RecordBatch.from_arrays(rows.data.columns, schema=schema.arrow())
    kinds, keep = as_changes(data, np.asarray(rows.kinds), schema, before_images=context.before_images)
    misfits = [one for one in rows.misfits if keep[one.row]]
    if misfits and not context.tolerant:
        yield TableStopped(
            schema.path,
            f"a change of table {schema.path} in the log: {misfits[0].reason}",
            f"correct the value, then {COPY_AGAIN}; or allow bad rows with env.error.max-rows",
        )
        return
    keep[[one.row for one in misfits]] = False
    if keep.all():
        yield Batch(schema.path, data, kinds=pa.array(kinds), metadata=block.metadata)
    elif keep.any():
        mask = pa.array(keep)
        metadata = {name: values.filter(mask) for name, values in block.metadata.items()}
        yield Batch(schema.path, data.filter(mask), kinds=pa.array(kinds[keep]), metadata=metadata)
    if misfits:
        yield _rejected(data, misfits, schema)


def unreadable(block: TableBlock, schema: TableSchema) -> TableStopped | None:
    """Why the rows of the block are not whole rows of the planned table; None: they are."""
    if block.rows.absent is not None:
        return TableStopped(
            schema.path,
            f"the log lacks columns of changed rows of table {schema.path}",
            f"SET GLOBAL binlog_row_image = FULL, also for sessions that are open; then {COPY_AGAIN}",
        )
    found, wanted = block.rows.data.schema, schema.arrow()
    if found.names == wanted.names and found.types == wanted.types:
        return None
    return TableStopped(
        schema.path,
        f"table {schema.path} looks different in the log: {_columns(found)} instead of {_columns(wanted)}",
        COPY_AGAIN,
    )


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{one.name} {one.type}" for one in schema)


def as_changes(
    data: pa.RecordBatch, kinds: npt.NDArray[np.uint8], schema: TableSchema, *, before_images: bool
) -> tuple[npt.NDArray[np.uint8], Mask]:
    """The kinds of rows, and which rows stay: a change of the key is a delete and an insert. Without a key every column
    belongs to it."""
    before = np.flatnonzero(kinds == RowKind.UPDATE_BEFORE)
    keep: Mask = np.ones(len(kinds), bool)
    if not len(before):
        return kinds, keep
    names = schema.primary_key.columns if schema.primary_key is not None else schema.names
    old, new = data.take(pa.array(before)), data.take(pa.array(before + 1))
    moved: Mask = np.zeros(len(before), bool)
    for name in names:
        moved |= ~_equal(old.column(name), new.column(name))
    keep[before[~moved]] = before_images
    kinds = kinds.copy()
    kinds[before[moved]] = RowKind.DELETE
    kinds[before[moved] + 1] = RowKind.INSERT
    return kinds, keep


def _equal(old: pa.Array, new: pa.Array) -> Mask:
    """Compare values, null with null. Values of a type without comparison count as different, which costs one more
    row."""
    try:
        same = pc.fill_null(pc.equal(old, new), False)
    except pa.ArrowNotImplementedError:
        same = pa.array(np.zeros(len(old), bool))
    nulls = pc.and_(pc.is_null(old), pc.is_null(new))
    found: Mask = np.asarray(pc.or_(same, nulls))
    return found


def _rejected(data: pa.RecordBatch, misfits: list[RowMisfit], schema: TableSchema) -> Rejected:
    reasons: dict[int, str] = {}
    for one in misfits:
        reasons[one.row] = f"{reasons[one.row]}; {one.reason}" if one.row in reasons else one.reason
    found = [json.dumps(data.slice(row, 1).to_pylist()[0], default=_plain, ensure_ascii=False) for row in reasons]
    raw = pa.array([one.encode() for one in found], pa.binary())
    return Rejected(schema.path, pa.RecordBatch.from_arrays([raw], names=["raw"]), tuple(reasons.values()))


def _plain(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
