"""Narrows looks at few keys down to their rows, where both databases can find rows by a column of the key."""

from __future__ import annotations

from dataclasses import replace

from seatunnel_py.api.source import RowSelection
from seatunnel_py.api.types import INTEGERS, STRING, DataType
from seatunnel_py.reconcile.column_forms import ColumnPair
from seatunnel_py.reconcile.comparisons import TableComparison
from seatunnel_py.reconcile.looks import BothSides, KeptRows, KeyLook, WantedKeys
from seatunnel_py.reconcile.row_hashes import Hashes
from seatunnel_py.reconcile.side_reader import ReadingPath

VALUES_MAX = 2_000
CHARACTERS_MAX = 200_000


def narrowed(sides: BothSides, comparison: TableComparison, look: KeyLook, keys: Hashes) -> BothSides:
    """Readers of these keys' rows, and perhaps of a few others; the same readers where rows cannot be chosen. ``look``
    has found the keys."""
    pair, texts = lookup_column(comparison), lookup_values(comparison, look, keys)
    if pair is None or not texts:
        return sides
    source = filtered(sides.source[0], pair.source.name, texts)
    target = filtered(sides.target, pair.target.name, texts)
    return sides if source is None or target is None else BothSides((source,), target)


def lookup_values(comparison: TableComparison, look: KeyLook, keys: Hashes) -> tuple[str, ...]:
    """The values of ``lookup_column`` in the rows of these keys; empty if they are too many, or not known."""
    pair = lookup_column(comparison)
    if pair is None or look.source is None or look.target is None or len(keys) > 2 * VALUES_MAX:
        return ()
    values = _values(pair.name, look.source, keys) | _values(pair.name, look.target, keys)
    if None in values or len(values) > VALUES_MAX or sum(len(str(one)) for one in values) > CHARACTERS_MAX:
        return ()
    return tuple(sorted(map(str, values)))


def lookup_column(comparison: TableComparison) -> ColumnPair | None:
    """The first column of the key by which both sides can be asked: no transform may have changed its values."""
    if not comparison.has_key or len(comparison.paths) != 1 or comparison.paths[0].steps:
        return None
    pairs = {pair.name: pair for pair in comparison.pairs[0]}
    found = (pairs[name] for name in comparison.key)
    return next((pair for pair in found if _asked_alike(pair.source.dtype, pair.target.dtype)), None)


def _asked_alike(source: DataType, target: DataType) -> bool:
    return source == target == STRING or (source.kind in INTEGERS and target.kind in INTEGERS)


def _values(name: str, kept: KeptRows, keys: Hashes) -> set[int | str | None]:
    import pyarrow as pa

    if not kept.data:
        return set()
    chosen = pa.array(WantedKeys(keys).among(kept.keys))
    return set(pa.Table.from_batches(kept.data).column(name).filter(chosen).to_pylist())


def filtered(path: ReadingPath, column: str, values: tuple[str, ...]) -> ReadingPath | None:
    """The reader for rows with one of these values; None: rows cannot be chosen so."""
    table = path.source.filtered(path.table, RowSelection(column=column, values=values))
    return None if table is None else replace(path, table=table)
