"""Shows how the rows of a key differ: its values, and the columns with other values. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seatunnel_py.api.text.shown import shown_values
from seatunnel_py.reconcile.comparisons import TableComparison
from seatunnel_py.reconcile.looks import KeyLook
from seatunnel_py.reconcile.report import ColumnDifference, RowDifference
from seatunnel_py.reconcile.row_hashes import Hashes, value_hashes
from seatunnel_py.reconcile.suspects import kinds

if TYPE_CHECKING:
    import pyarrow as pa


def row_differences(comparison: TableComparison, keys: Hashes, look: KeyLook) -> list[RowDifference]:
    """The differences of these keys, as far as the look has kept their rows. Ordered by key where keys have an
    order."""
    if look.source is None or look.target is None:
        return []
    counts = zip(look.look.source.at(keys)[0].tolist(), look.look.target.at(keys)[0].tolist(), strict=True)
    found = []
    for key, kind, (source_rows, target_rows) in zip(keys, kinds(keys, look.look), counts, strict=True):
        source, target = look.source.first(key), look.target.first(key)
        row = source if source is not None else target
        if row is None:
            continue  # it has gone on both sides meanwhile
        values = {name: _value(row, name) for name in comparison.key}
        columns = () if source is None or target is None else _columns(source, target)
        found.append(RowDifference(kind, values, columns, source_rows, target_rows))
    try:
        return sorted(found, key=lambda one: tuple(one.key.values()))
    except TypeError:  # nulls, or values without an order
        return found


def _columns(source: pa.RecordBatch, target: pa.RecordBatch) -> tuple[ColumnDifference, ...]:
    return tuple(
        ColumnDifference(name, _value(source, name), _value(target, name))
        for name in source.schema.names
        if value_hashes(source.column(name))[0] != value_hashes(target.column(name))[0]
    )


def _value(row: pa.RecordBatch, name: str) -> Any:
    return shown_values(row.column(name))[0]
