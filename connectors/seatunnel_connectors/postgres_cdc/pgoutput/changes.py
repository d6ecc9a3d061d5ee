"""Turns the inserts, updates and deletes of one table into an Arrow batch with row kinds and absent cells."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from seatunnel_connectors.postgres_cdc.pgoutput.errors import MalformedMessageError
from seatunnel_connectors.postgres_cdc.pgoutput.messages import (
    DELETE,
    INSERT,
    KEY,
    NEW,
    OLD,
    UNCHANGED,
    Bytes,
    Gatherer,
    Numbers,
)
from seatunnel_connectors.postgres_cdc.pgoutput.relations import TableVersion
from seatunnel_connectors.postgres_cdc.pgoutput.text_values import to_column
from seatunnel_connectors.postgres_cdc.pgoutput.tuples import Cells, Mask, texts, walk
from seatunnel_py.api import Kind, RowKind, ValueMisfitError

if TYPE_CHECKING:
    import pyarrow as pa

_WAY_ON = "then copy the table anew"
_MARKER_AT, _TUPLE_AT = 5, 6  # after the letter and the table's oid


class Before(Enum):
    """Which rows an update gives where the log holds the row before it. PAIRS: always -U and +U. MOVES: +U alone, and
    where the key changes -D and +I; -U and +U if the row after it lacks cells, because it cannot be inserted. IMAGES:
    as MOVES, and -U and +U where the key stays and the log holds the whole row before it."""

    PAIRS = "pairs"
    MOVES = "moves"
    IMAGES = "images"


class TableUnreadableError(ValueError):
    """Rows of a table cannot be given exactly; ``row`` is the message's place in the batch. The remedy is a text of its
    own."""

    def __init__(self, message: str, remedy: str, row: int) -> None:
        super().__init__(message)
        self.remedy = remedy
        self.row = row


@dataclass(frozen=True, slots=True)
class DecodedRows:
    """Rows of one table in log order. ``messages`` holds the number of the message of each; ``absent`` is
    None if every cell is there."""

    data: pa.RecordBatch
    kinds: pa.UInt8Array
    messages: Numbers
    absent: pa.RecordBatch | None


def to_rows(
    table: TableVersion, data: Gatherer, letters: Bytes, starts: Numbers, ends: Numbers, before: Before
) -> DecodedRows:  # fmt: skip
    """The rows of these messages, which are I, U and D of that table. Raises TableUnreadableError."""
    markers = data.u1(starts + _MARKER_AT)
    has_old = (markers == KEY) | (markers == OLD)
    _check_markers(letters, markers, has_old)
    width = len(table.relation.columns)
    if has_old.any():
        return _with_old(table, data, letters, markers, has_old, (starts, ends), before)
    cells, found = walk(data, starts + _TUPLE_AT, width)
    _check_ends(found, ends)
    messages = np.arange(len(starts))
    kinds = np.where(letters == INSERT, RowKind.INSERT, RowKind.UPDATE_AFTER).astype(np.uint8)
    _check_identity(table, cells, messages)
    return _rows(table, data, cells, kinds, messages)


def _with_old(
    table: TableVersion, data: Gatherer, letters: Bytes, markers: Bytes, has_old: Mask, bounds: tuple[Numbers, Numbers],
    before: Before,
) -> DecodedRows:  # fmt: skip
    starts, ends = bounds
    is_delete = letters == DELETE
    old_at, new_at = np.flatnonzero(has_old), np.flatnonzero(~is_delete)
    old, behind = walk(data, starts[old_at] + _TUPLE_AT, len(table.relation.columns))
    begin = starts + _TUPLE_AT
    begin[old_at] = behind + 1
    updates = ~is_delete[old_at]
    if not (data.u1(behind[updates]) == NEW).all():
        raise MalformedMessageError("an update holds no new row after the old one")
    _check_ends(behind[~updates], ends[old_at[~updates]])
    new, behind = walk(data, begin[new_at], len(table.relation.columns))
    _check_ends(behind, ends[new_at])
    _drop_meaningless(table, old, markers[old_at] == KEY)
    pairs = np.searchsorted(new_at, old_at[updates])  # the rows in new whose old row is old[updates]
    _fill_unchanged(old, np.flatnonzero(updates), new, pairs)
    _check_identity(table, new, new_at)
    old_kinds = np.full(len(old_at), RowKind.DELETE, np.uint8)
    new_kinds = np.where(letters[new_at] == INSERT, RowKind.INSERT, RowKind.UPDATE_AFTER).astype(np.uint8)
    keep = np.ones(len(old_at), bool)
    if before is Before.PAIRS:
        old_kinds[updates] = RowKind.UPDATE_BEFORE
    else:
        moved, whole = _moves(table, data, old, np.flatnonzero(updates), new, pairs)
        keep[updates] = moved
        if before is Before.IMAGES:
            keep[updates] |= ~old.rows(updates).is_unchanged().any(axis=0)
        old_kinds[updates] = np.where(moved & whole, RowKind.DELETE, RowKind.UPDATE_BEFORE)
        new_kinds[pairs[moved & whole]] = RowKind.INSERT
    messages = np.concatenate([old_at[keep], new_at])
    order = np.argsort(messages, kind="stable")  # the row before an update comes first: it stands first in both
    cells = old.rows(keep).joined(new, order)
    return _rows(table, data, cells, np.concatenate([old_kinds[keep], new_kinds])[order], messages[order])


def _check_markers(letters: Bytes, markers: Bytes, has_old: Mask) -> None:
    is_new = markers == NEW
    wrong = np.where(letters == INSERT, ~is_new, np.where(letters == DELETE, ~has_old, ~(is_new | has_old)))
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise MalformedMessageError(f"a message {chr(letters[at])} holds a row of the kind {int(markers[at])}")


def _check_ends(found: Numbers, ends: Numbers) -> None:
    if not (found == ends).all():
        raise MalformedMessageError("the values of a row do not end where its message ends")


def _check_identity(table: TableVersion, cells: Cells, messages: Numbers) -> None:
    """Without the old key, an unchanged value in the key does not identify a row."""
    if cells.plain:
        return
    unchanged = cells.is_unchanged()
    for name in table.key:
        found = np.flatnonzero(unchanged[table.relation.names.index(name)])
        if len(found):
            raise TableUnreadableError(
                f"table {table.path}: an update lacks the value of {name!r}, which belongs to the key and is "
                "stored out of line, so the row that it changes is unknown",
                f"run ALTER TABLE {table.path.schema}.{table.path.table} REPLICA IDENTITY FULL at the source",
                int(messages[found[0]]),
            )


def _drop_meaningless(table: TableVersion, old: Cells, is_key: Mask) -> None:
    """An old key holds a null for every column outside of the identity: no value, not the value NULL (F-C12)."""
    outside = np.array([not column.identity for column in table.relation.columns])
    meaningless = outside[:, None] & is_key
    if meaningless.any():
        old.tags[meaningless] = UNCHANGED
        old.plain = False


def _fill_unchanged(old: Cells, old_rows: Numbers, new: Cells, new_rows: Numbers) -> None:
    """Take an unchanged value from the row before, where that holds it (F-C11)."""
    if new.plain:
        return
    column, row = np.nonzero(new.is_unchanged()[:, new_rows] & ~old.is_unchanged()[:, old_rows])
    if len(row):
        source, target = (column, old_rows[row]), (column, new_rows[row])
        new.tags[target] = old.tags[source]
        new.starts[target] = old.starts[source]
        new.lengths[target] = old.lengths[source]
        new.in_order = False


def _moves(
    table: TableVersion, data: Gatherer, old: Cells, old_rows: Numbers, new: Cells, new_rows: Numbers
) -> tuple[Mask, Mask]:  # fmt: skip
    """Which updates change the key, and which have every cell of the row after it."""
    import pyarrow.compute as pc

    before, after = old.rows(old_rows), new.rows(new_rows)
    moved: Mask = np.zeros(len(old_rows), bool)
    whole: Mask = np.asarray(~after.is_unchanged().any(axis=0))
    names = table.relation.names
    key = [names.index(name) for name in table.key or names]
    both_texts = before.is_text() & after.is_text()
    alike = before.tags == after.tags
    old_texts, new_texts = texts(data.buffer, before), texts(data.buffer, after)
    for at in key:
        equal = np.asarray(pc.fill_null(pc.equal(old_texts[at], new_texts[at]), False))
        moved |= ~np.where(both_texts[at], equal, alike[at])
    return moved, whole


def _rows(
    table: TableVersion, data: Gatherer, cells: Cells, kinds: npt.NDArray[np.uint8], messages: Numbers
) -> DecodedRows:  # fmt: skip
    import pyarrow as pa

    schema = table.arrow()
    arrays = []
    # Texts stay as they are cut out: apart, so that they do not keep what the other columns are made of.
    as_cut = np.array([one.kind is Kind.STRING for one in table.types], bool)
    kept, others = iter(texts(data.buffer, cells.columns(as_cut))), iter(texts(data.buffer, cells.columns(~as_cut)))
    columns = [next(kept if one else others) for one in as_cut.tolist()]
    for name, column, dtype, native in zip(schema.names, columns, table.types, table.natives, strict=True):
        try:
            arrays.append(to_column(column, dtype, native))
        except ValueMisfitError as error:
            raise TableUnreadableError(
                f"table {table.path}, column {name!r}: {error}",
                f"replace the value at the source, or take the column out of the publication; {_WAY_ON}",
                int(messages[error.row]),
            ) from None
    absent = None
    if not cells.plain and (unchanged := cells.is_unchanged()).any():
        absent = pa.RecordBatch.from_arrays([pa.array(mask) for mask in unchanged], names=list(schema.names))
    if not arrays:  # a table without columns: the batch still has its rows
        data_batch = pa.RecordBatch.from_struct_array(pa.array([{}] * len(messages), pa.struct([])))
        return DecodedRows(data_batch, pa.array(kinds), messages, None)
    return DecodedRows(pa.RecordBatch.from_arrays(arrays, schema=schema), pa.array(kinds), messages, absent)
