"""Checks that plugins give a unit objects of the interface's types: skipping another object would lose rows silently,
and a batch of another shape must not reach a sink. A violation fails the unit.

Checking a batch costs a comparison of two Arrow schemas, not of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.batch import (
    Batch,
    Heartbeat,
    Position,
    ReaderEvent,
    Rejected,
    RowKind,
    SchemaChange,
    Skipped,
    TableStopped,
    TableTruncated,
    TransactionEnd,
)
from seatunnel_py.api.schema import TablePath, TableSchema
from seatunnel_py.api.sink import Piece
from seatunnel_py.api.types import to_arrow
from seatunnel_py.errors import BadRowsError, FatalError
from seatunnel_py.nouns import counted
from seatunnel_py.work.failing_code import MEND

if TYPE_CHECKING:
    import pyarrow as pa

ELEMENTS = (
    Batch,
    Rejected,
    Skipped,
    SchemaChange,
    TableTruncated,
    TableStopped,
    Heartbeat,
    TransactionEnd,
    ReaderEvent,
)
COLUMNS_SHOWN_MAX = 4


class OutputChecker:
    """Checks the elements of one plugin for tables of ``schemas``; other tables are not its concern. ``who`` is its
    method, for messages. Without ``nulls`` a null in a NOT NULL column passes here: rows are checked one by one
    later."""

    def __init__(self, who: str, schemas: Iterable[TableSchema], *, nulls: bool = True) -> None:
        self._who = who
        self._nulls = nulls
        self._schemas = {schema.path: schema for schema in schemas}
        self._wanted: dict[TablePath, pa.Schema] = {}

    def element(self, item: object, kinds: tuple[type, ...] = ELEMENTS) -> None:
        """Check an element that a reader yields, or a transform returns."""
        if not isinstance(item, kinds):
            raise self._wrong(f"gives {_shown(item)} where a Batch belongs")
        if isinstance(item, Batch):
            self._batch(item)
        elif isinstance(item, Rejected) and len(item.reasons) != item.data.num_rows:
            text = f"rejects {item.data.num_rows} rows of {item.table} with {len(item.reasons)} reasons: each needs one"
            raise self._wrong(text)
        elif isinstance(item, Skipped) and (type(item.rows) is not int or item.rows < 0):
            raise self._wrong(f"skips {item.rows!r} records of {item.table}: a number of them is wanted")
        if isinstance(item, ReaderEvent):
            self._plain(item.event, "reports")
        end = getattr(item, "end", None)
        if end is None:
            if isinstance(item, Heartbeat | TransactionEnd):
                raise self._wrong(f"gives {_shown(item)} without a position, its only content")
            return
        if not isinstance(end, Position):
            raise self._wrong(f"gives {_shown(end)} as the end of an element where a Position belongs")
        self._plain(end.value, "gives as the end of an element")

    def _plain(self, value: object, does: str) -> None:
        odd = not_plain(value)
        if odd is not None:
            raise self._wrong(f"{does} {odd}")

    def _batch(self, batch: Batch) -> None:
        import pyarrow as pa

        if not isinstance(batch.data, pa.RecordBatch):
            raise self._wrong(f"gives a batch of {batch.table} whose data are {_shown(batch.data)}, not a RecordBatch")
        schema = self._schemas.get(batch.table)
        if schema is not None:
            wanted = self._wanted.get(batch.table)
            if wanted is None:
                wanted = self._wanted[batch.table] = _arrow(schema)
            if not batch.data.schema.equals(wanted):
                self._same(batch, wanted)
            if self._nulls:
                self._without_nulls(batch, schema)
        for what, values in (("kinds", batch.kinds), *batch.metadata.items()):
            if values is not None and len(values) != batch.rows:
                raise self._wrong(f"gives a batch of {batch.table} with {batch.rows} rows, but {len(values)} {what}")

    def _without_nulls(self, batch: Batch, schema: TableSchema) -> None:
        """Reject nulls in NOT NULL columns; Arrow has counted the nulls. Cells that were never sent do not count:
        absent ones, and those of a delete that holds only its key."""
        for at, column in enumerate(schema.columns):
            if column.nullable or not batch.data.column(at).null_count:
                continue
            count = _nulls(batch, at)
            if count:
                found = f"{counted(count, 'null')} of {batch.table} in {column.name}"
                raise BadRowsError(
                    f"{self._who} gives {found}, which is declared NOT NULL",
                    "declare that the column may be null, or correct the data",
                )

    def _same(self, batch: Batch, wanted: pa.Schema) -> None:
        """Compare schemas without nullability: Arrow's flag for it proves nothing."""
        found = [(one.name, one.type) for one in batch.data.schema]
        expected = [(one.name, one.type) for one in wanted]
        if found != expected:
            here, there = set(found) - set(expected), set(expected) - set(found)
            differ = (
                f"{_columns(here)} instead of {_columns(there)}" if here or there else "its columns in another order"
            )
            raise self._wrong(f"gives a batch of {batch.table} that its schema does not announce: {differ}")

    def _wrong(self, text: str) -> FatalError:
        return FatalError(f"{self._who} {text}", MEND)


def _nulls(batch: Batch, at: int) -> int:
    """Count the nulls of a column among the rows that have a value there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    null = batch.data.column(at).is_null()
    if batch.absent is not None:
        null = pc.and_not(null, batch.absent.column(at))
    if batch.kinds is not None:
        gone = pc.is_in(batch.kinds, pa.array([RowKind.DELETE, RowKind.UPDATE_BEFORE], pa.uint8()))
        null = pc.and_not(null, gone)
    return int(pc.sum(null).as_py() or 0)


def piece_given(who: str, piece: object) -> Piece:
    """Check the pieces that a writer has staged."""
    if not isinstance(piece, Piece):
        raise FatalError(f"{who} returns {_shown(piece)} instead of a Piece", MEND)
    counts = {"rows": piece.rows, "bytes": piece.bytes, "merged": piece.merged, "version": piece.version}
    for name, count in counts.items():
        if type(count) is not int:
            raise FatalError(f"{who} returns a Piece whose {name} are {_shown(count)} instead of a number", MEND)
    odd = not_plain(piece.data)
    if odd is not None:
        raise FatalError(f"{who} returns a Piece with {odd}", MEND)
    return piece


_SCALARS = frozenset({type(None), bool, int, float, str})


def _is_plain(value: Any) -> bool:
    """Whether a value is plain data without a subclass: nearly every one is, and needs no description."""
    kind = type(value)
    if kind is dict:
        return all(type(key) is str and (type(one) in _SCALARS or _is_plain(one)) for key, one in value.items())
    if kind is list or kind is tuple:
        return all(type(one) in _SCALARS or _is_plain(one) for one in value)
    return kind in _SCALARS


def not_plain(value: object, place: str = "") -> str | None:
    """Describe the part that is not plain data. A checkpoint holds JSON, which would refuse any other object, or change
    it."""
    if _is_plain(value):
        return None
    match value:
        case bool() | int() | float() | str():
            return None
        case Mapping() if all(isinstance(key, str) for key in value):
            inner = ((f"{place}[{key!r}]", one) for key, one in value.items())
        case list() | tuple():
            inner = ((f"{place}[{at}]", one) for at, one in enumerate(value))
        case _:
            where = f" at {place}" if place else ""
            return (
                f"data that no checkpoint can hold: {_shown(value)}{where}; "
                "plain data are dict with text keys, list, str, int, float, bool, None"
            )
    return next((odd for odd in (not_plain(one, at) for at, one in inner) if odd is not None), None)


def expect_iterable(who: str, items: object) -> Iterable[Any]:
    """Check that the result is iterable: a method without ``yield`` returns None."""
    if not isinstance(items, Iterable):
        raise FatalError(f"{who} returns {_shown(items)} where Batches belong, one after the other", MEND)
    return items


def expect_instance(who: str, made: object, kind: type) -> None:
    """Check that a plugin's object has this type."""
    if not isinstance(made, kind):
        raise FatalError(f"{who} returns {_shown(made)} instead of a {kind.__name__}", MEND)


@lru_cache(maxsize=1024)
def _arrow_of(columns: tuple[tuple[str, object], ...]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([(name, to_arrow(dtype)) for name, dtype in columns])  # type: ignore[arg-type]


def _arrow(schema: TableSchema) -> pa.Schema:
    return _arrow_of(tuple((column.name, column.dtype) for column in schema.columns))


def _columns(columns: set[tuple[str, object]]) -> str:
    shown = [f"{name} {kind}" for name, kind in sorted(columns, key=str)[:COLUMNS_SHOWN_MAX]]
    more = [f"{len(columns) - COLUMNS_SHOWN_MAX} more"] if len(columns) > COLUMNS_SHOWN_MAX else []
    return ", ".join([*shown, *more]) or "no column"


def _shown(item: object) -> str:
    return "None" if item is None else f"a {type(item).__name__}"
