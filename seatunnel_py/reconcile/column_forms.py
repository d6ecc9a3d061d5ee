"""Decides in which form a column of both sides is compared, and converts values to it.

The form of a column follows the type contract, as the sink does: the source's values are converted to the type that the
target's column is read as. If only the other direction is possible, the target's values are converted. Nested values
are compared as JSON text, numbers without bounds by value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seatunnel_py.api.schema import Column, TableSchema
from seatunnel_py.api.types import (
    NUMBER,
    STRING,
    DataType,
    Kind,
    Outcome,
    ValueMisfitError,
    convert,
    stored_as,
    to_arrow,
)
from seatunnel_py.errors import FatalError
from seatunnel_py.formats.json.text import json_texts

if TYPE_CHECKING:
    import pyarrow as pa

_NESTED = frozenset({Kind.ARRAY, Kind.MAP, Kind.ROW, Kind.FLOAT_VECTOR, Kind.FLOAT16_VECTOR, Kind.SPARSE_FLOAT_VECTOR})


@dataclass(frozen=True, slots=True)
class ColumnForm:
    """A column of one side, by its name there, and the type in which its values are compared."""

    name: str
    dtype: DataType
    form: DataType

    def of(self, array: pa.Array) -> tuple[pa.Array, list[int]]:
        """The values in that form, and the rows of values that have none, which are null in it."""
        if self.form == STRING and self.dtype.kind in _NESTED:
            return json_texts(array, self.dtype), []
        if self.form == NUMBER == self.dtype:
            return shortest_digits(array), []
        if self.form == self.dtype:
            return array, []
        return _converted(array, self.dtype, self.form)


@dataclass(frozen=True, slots=True)
class ColumnPair:
    """A column of the sink's table, which both sides have."""

    name: str
    source: ColumnForm
    target: ColumnForm


def column_pairs(source: TableSchema, target: TableSchema, names: Mapping[str, str]) -> tuple[ColumnPair, ...]:
    """The columns of the sink's table with their forms; ``names`` maps them to columns of the target. Raises FatalError
    with every column that cannot be compared."""
    found, problems = [], []
    for column in source.columns:
        there = _named(target, names[column.name])
        form = None if there is None else common_form(column.dtype, there.dtype)
        if there is None:
            problems.append(f"the target has no column {names[column.name]!r}")
        elif form is None:
            problems.append(f"column {column.name!r}: {column.dtype} cannot be compared with {there.dtype}")
        else:
            forms = ColumnForm(column.name, column.dtype, form), ColumnForm(there.name, there.dtype, form)
            found.append(ColumnPair(column.name, *forms))
    if problems:
        raise FatalError("; ".join(problems), "alter the target, or leave the columns out with a transform")
    return tuple(found)


def _named(table: TableSchema, name: str) -> Column | None:
    """The column of that name; else the only one whose name differs in letter case alone."""
    alike = [column for column in table.columns if column.name.casefold() == name.casefold()]
    return table.column(name) or (alike[0] if len(alike) == 1 else None)


def common_form(source: DataType, target: DataType) -> DataType | None:
    """The type in which values of both types can be compared; None if there is none."""
    if source == target or {source.kind, target.kind} & _NESTED:
        return _unnested(source, target)
    if stored_as(source, target).outcome is not Outcome.REFUSED:
        return target
    return source if stored_as(target, source).outcome is not Outcome.REFUSED else None


def _unnested(source: DataType, target: DataType) -> DataType | None:
    if source.kind not in _NESTED and target.kind not in _NESTED:
        return target
    comparable = all(one.kind in _NESTED or one.kind is Kind.STRING for one in (source, target))
    return STRING if comparable else None


def _converted(array: pa.Array, dtype: DataType, form: DataType) -> tuple[pa.Array, list[int]]:
    """Convert the values. The sink has refused a value that does not fit as well: the value becomes null, and its row
    is listed."""
    import pyarrow as pa

    arrow, done = to_arrow(form), 0
    parts: list[pa.Array] = []
    misfits: list[int] = []
    while done < len(array):
        try:
            parts.append(convert(array.slice(done), dtype, form))
            break
        except ValueMisfitError as error:
            parts += [convert(array.slice(done, error.row), dtype, form), pa.nulls(1, arrow)]
            misfits.append(done + error.row)
            done = misfits[-1] + 1
    return pa.concat_arrays([one.cast(arrow) for one in parts]) if parts else pa.nulls(0, arrow), misfits


def shortest_digits(texts: pa.Array) -> pa.Array:
    """Numbers in plain digits without redundant zeros, so that equal numbers are equal texts."""
    import pyarrow.compute as pc

    fraction = pc.match_substring(texts, ".")
    trimmed = pc.utf8_rtrim(pc.utf8_rtrim(texts, "0"), ".")
    found = pc.if_else(fraction, trimmed, texts)
    found = pc.replace_substring_regex(found, r"^(-?)0+([0-9])", r"\1\2")
    return pc.if_else(pc.equal(found, "-0"), "0", found)
