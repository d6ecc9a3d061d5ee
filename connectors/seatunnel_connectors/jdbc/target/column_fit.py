"""How rows fit into the columns of a target: exactly, in another form, after a test, or not at all.

The contract for values decides (seatunnel_py.api.types.contract). Columns that are stored only after a test are
converted here, before a dialect's writer sees them, so that no server rounds, cuts or guesses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from seatunnel_connectors.jdbc.target.target_plan import TargetColumn, compatibility_of
from seatunnel_py.api import (
    BadRowsError,
    Column,
    Conversion,
    DataType,
    Kind,
    Outcome,
    Plain,
    TableSchema,
    ValueMisfitError,
    convert,
    parse_type,
)

if TYPE_CHECKING:
    import pyarrow as pa

_NESTED = frozenset({Kind.ARRAY, Kind.MAP, Kind.ROW, Kind.FLOAT_VECTOR, Kind.FLOAT16_VECTOR, Kind.SPARSE_FLOAT_VECTOR})


@dataclass(frozen=True, slots=True)
class CheckedColumn:
    """A column whose values are tested: ``dtype`` and ``digits`` (of a second's fraction) are those of the target."""

    name: str
    dtype: DataType
    digits: int

    def to_plain(self) -> list[Plain]:
        return [self.name, str(self.dtype), self.digits]


def checked_columns(
    table: TableSchema, target: Mapping[str, TargetColumn], names: Mapping[str, str]
) -> tuple[CheckedColumn, ...]:
    """The upstream's columns that ``compatibility_of`` calls CHECKED. ``names`` maps them to target names."""
    found = []
    for column in table.columns:
        there = target.get(names[column.name])
        if there is None or there.dtype is None:
            continue
        if compatibility_of(column, there).outcome is Outcome.CHECKED:
            found.append(CheckedColumn(column.name, there.dtype, there.digits))
    return tuple(found)


def rewritten_columns(
    table: TableSchema, target: Mapping[str, TargetColumn], names: Mapping[str, str]
) -> tuple[CheckedColumn, ...]:
    """``checked_columns``, and those that arrive as another type of plain values: what the contract converts is not
    left to a server, which may have several ways to do it."""
    found = list(checked_columns(table, target, names))
    for column in table.columns:
        there = target.get(names[column.name])
        if there is None or there.dtype is None or column.dtype.kind in _NESTED:
            continue
        if compatibility_of(column, there).outcome is Outcome.CONVERTED and column.dtype.kind is not there.dtype.kind:
            found.append(CheckedColumn(column.name, there.dtype, there.digits))
    return tuple(found)


def conversions(
    table: TableSchema, target: Mapping[str, TargetColumn], names: Mapping[str, str]
) -> tuple[Conversion, ...]:
    """For each column that is not stored as the rows hold it: from which type to which, and what is tested."""
    found = []
    for column in table.columns:
        there = target.get(names[column.name])
        if there is not None:
            found += conversion(column, there)
    return tuple(found)


def conversion(column: Column, there: TargetColumn) -> list[Conversion]:
    """The conversion of one column, if it has one."""
    compatibility = compatibility_of(column, there)
    source = column.converted_from or str(column.dtype)
    if column.native and column.native == there.shown:
        return [Conversion(column.name, there.shown, there.shown)]
    if compatibility.outcome is Outcome.EXACT and not column.converted_from:
        return []
    checked = compatibility.outcome is Outcome.CHECKED
    return [Conversion(column.name, source, there.shown, compatibility.note, checked)]


def judged(
    data: pa.RecordBatch, before: int, convert_rows: Callable[[pa.RecordBatch, int], pa.RecordBatch]
) -> tuple[pa.RecordBatch, BadRowsError | None]:
    """Convert the rows before the first one that ``convert_rows`` refuses, and return the error of that one. An error
    with a row number means that all earlier rows are good, so the writer first sends them to the server."""
    try:
        return convert_rows(data, before), None
    except BadRowsError as error:
        if error.row is None:
            raise
        converted, earlier = judged(data.slice(0, error.row - before), before, convert_rows)
        return converted, earlier or error


class ColumnFit:
    """Applies the tests of one load to its batches. ``table`` is the upstream's with the types that come out.
    ``whole`` are columns without which a row is none of the target's: no null finds its row again."""

    def __init__(
        self, table: TableSchema, checked: Sequence[CheckedColumn], shown: str, whole: Sequence[str] = ()
    ) -> None:
        self.shown = shown
        places = {column.name: at for at, column in enumerate(table.columns)}
        self.whole = [(places[name], name) for name in whole]
        self.columns = [(places[one.name], table.columns[places[one.name]], one) for one in checked]
        types = {one.name: one.dtype for one in checked}
        self.table = replace(
            table,
            columns=tuple(replace(column, dtype=types.get(column.name, column.dtype)) for column in table.columns),
        )

    def apply(self, data: pa.RecordBatch, before: int = 0) -> pa.RecordBatch:
        """The batch with every tested column in the target's type. BadRowsError names the first value that does not
        fit, by its row in the unit: ``before`` rows of it came in earlier batches."""
        for at, name in self.whole:
            self._refuse_null(data.column(at), name, before)
        for at, column, checked in self.columns:
            try:
                array = convert(data.column(at), column.dtype, checked.dtype, checked.digits)
            except ValueMisfitError as error:
                raise BadRowsError(
                    f"writing table {self.shown}: column {column.name!r}: {error}",
                    "widen the target's column, or convert the column in a transform",
                    before + error.row,
                ) from None
            data = data.set_column(at, data.schema.field(at).with_type(array.type), array)
        return data

    def _refuse_null(self, array: pa.Array, name: str, before: int) -> None:
        if array.null_count:
            import pyarrow.compute as pc

            raise BadRowsError(
                f"writing table {self.shown}: the row has no value in column {name!r}, by which the target knows its "
                "rows",
                "fill the column in a transform, set primary_keys to columns that always have a value, or set "
                "enable_upsert = false",
                before + pc.index(pc.is_null(array), value=True).as_py(),
            )


def fit_of(table: TableSchema, plain: Sequence[Sequence[Plain]], shown: str, whole: Sequence[str] = ()) -> ColumnFit:
    """Read back what ``CheckedColumn.to_plain`` wrote. A column that the rows have lost is reported by their places."""
    known = set(table.names)
    checked = [CheckedColumn(str(name), parse_type(str(dtype)), int(str(digits))) for name, dtype, digits in plain]
    return ColumnFit(
        table, [one for one in checked if one.name in known], shown, [one for one in whole if one in known]
    )
