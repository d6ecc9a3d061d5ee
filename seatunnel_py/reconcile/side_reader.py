"""Reads one side of a comparison as blocks: rows in the form of the comparison, with the hashes of key and row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from seatunnel_py.api.batch import Batch, Element, Rejected
from seatunnel_py.api.source import ReadContext, Source, SourceTable, Split, read_with
from seatunnel_py.errors import FatalError
from seatunnel_py.nouns import counted
from seatunnel_py.reconcile.column_forms import ColumnForm
from seatunnel_py.reconcile.comparisons import PathStep, TableComparison
from seatunnel_py.reconcile.row_hashes import Hashes, combined, value_hashes

if TYPE_CHECKING:
    import pyarrow as pa

_CONTEXT = ReadContext(tolerant=True, with_metadata=False)
_MISFIT = np.uint64(0x5851_F42D_4C95_7F2D)


class WantedRows(Protocol):
    """Chooses rows by the hashes of their keys."""

    def among(self, keys: Hashes) -> Any:
        """A mask of the wanted rows; None: all of them."""


@dataclass(frozen=True, slots=True, eq=False)
class ComparedRows:
    """Wanted rows of one side, among ``read`` rows. ``data`` has the columns of the sink's table, in the form of the
    comparison. ``unreadable`` rows more have values that their column's type does not have."""

    keys: Hashes
    rows: Hashes
    data: pa.RecordBatch
    read: int
    unreadable: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class KeyedRows:
    """Rows in the form of the sink's table, with the hashes of their keys."""

    keys: Hashes
    data: pa.RecordBatch

    def among(self, wanted: WantedRows) -> KeyedRows:
        import pyarrow as pa

        mask = wanted.among(self.keys)
        return self if mask is None else KeyedRows(self.keys[mask], self.data.filter(pa.array(mask)))


@dataclass(frozen=True, slots=True)
class ReadingPath:
    """Reads one table, and brings its rows into the form of the comparison."""

    source: Source
    table: SourceTable
    steps: tuple[PathStep, ...]
    names: tuple[str, ...]
    forms: tuple[ColumnForm, ...]
    key: tuple[int, ...]

    def blocks(self, wanted: WantedRows) -> Iterator[ComparedRows]:
        """The rows with a wanted key, in bounded blocks; empty ones, too."""
        for element in self._elements():
            if isinstance(element, Batch):
                for batch in _transformed(element, self.steps):
                    yield self._block(batch.data, wanted)
            elif isinstance(element, Rejected):
                yield _unreadable(element.data.num_rows)

    def keyed(self, splits: Iterable[Split]) -> Iterator[KeyedRows]:
        """The rows of these splits as the sink gets them. Raises FatalError for a row that cannot be read."""
        for element in self._read(splits):
            if isinstance(element, Rejected):
                raise FatalError(
                    f"table {self.table.schema.path}: {counted(element.data.num_rows, 'row')} cannot be read: "
                    f"{element.reasons[0]}",
                    "correct the rows at the source",
                )
            if isinstance(element, Batch):
                for batch in _transformed(element, self.steps):
                    formed = [self._formed(batch.data, at) for at in self.key]
                    yield KeyedRows(combined([hashes for _, hashes in formed], batch.rows), batch.data)

    def _elements(self) -> Iterator[Element]:
        enumerator = self.source.enumerator([self.table], None)
        try:
            yield from self._read(enumerator.discover())
        finally:
            enumerator.close()

    def _read(self, splits: Iterable[Split]) -> Iterator[Element]:
        with ExitStack() as stack:
            reader = self.source.reader(self.table)
            stack.callback(reader.close)
            for step in self.steps:
                stack.callback(step.transform.close)
            for split in splits:
                yield from read_with(reader, split, None, _CONTEXT)

    def _block(self, data: pa.RecordBatch, wanted: WantedRows) -> ComparedRows:
        """Columns without a part in the key are converted for wanted rows only: most looks want few."""
        import pyarrow as pa

        formed = {at: self._formed(data, at) for at in self.key}
        keys = combined([hashes for _, hashes in formed.values()], data.num_rows)
        mask, read = wanted.among(keys), data.num_rows
        if mask is not None:
            keys, data = keys[mask], data.filter(pa.array(mask))
            formed = {}
        columns = [formed.get(at) or self._formed(data, at) for at in range(len(self.forms))]
        rows = combined([hashes for _, hashes in columns], data.num_rows)
        arrays = [array for array, _ in columns]
        return ComparedRows(keys, rows, pa.RecordBatch.from_arrays(arrays, list(self.names)), read)

    def _formed(self, data: pa.RecordBatch, at: int) -> tuple[pa.Array, Hashes]:
        """A column in the form of the comparison, with the hashes of its values. A value without that form is one that
        the target cannot have, so its row is equal to none."""
        form = self.forms[at]
        array, misfits = form.of(data.column(data.schema.get_field_index(form.name)))
        hashes = value_hashes(array)
        hashes[misfits] ^= _MISFIT
        return array, hashes


def _unreadable(rows: int) -> ComparedRows:
    import pyarrow as pa

    none = np.zeros(0, np.uint64)
    return ComparedRows(none, none, pa.RecordBatch.from_arrays([], []), 0, rows)


def _transformed(batch: Batch, steps: Sequence[PathStep]) -> Iterator[Batch]:
    """The rows that arrive at the sink. Rejected rows do not."""
    batches: Iterable[Batch | Rejected] = [batch]
    for step in steps:
        batches = [
            out
            for one in batches
            if isinstance(one, Batch)
            for out in step.transform.apply(one)
            if out.table == step.output
        ]
    return (one for one in batches if isinstance(one, Batch))


def source_paths(comparison: TableComparison) -> list[ReadingPath]:
    """Readers of the source's side."""
    return [
        ReadingPath(
            path.source, path.table, path.steps, tuple(pair.name for pair in pairs),
            tuple(pair.source for pair in pairs), _places(comparison),
        )
        for path, pairs in zip(comparison.paths, comparison.pairs, strict=True)
    ]  # fmt: skip


def target_path(comparison: TableComparison) -> ReadingPath:
    """Reader of the target's side."""
    stored, pairs = comparison.stored, comparison.pairs[0]
    names, forms = tuple(pair.name for pair in pairs), tuple(pair.target for pair in pairs)
    return ReadingPath(stored.source, stored.table, (), names, forms, _places(comparison))


def _places(comparison: TableComparison) -> tuple[int, ...]:
    names = [pair.name for pair in comparison.pairs[0]]
    return tuple(names.index(column) for column in comparison.key)
