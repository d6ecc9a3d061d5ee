"""Defines SQL for the planner: the kind of step, and the port through which a query is analysed.

Catalyst runs these steps, not a worker. *Narrow* means one scan with projections and filters only: such a query
runs inside a chain, rows in, rows out. Anything wider is a vertex of its own between channels (design, section 4.7).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from seatunnel_py.api.capabilities import Determinism
from seatunnel_py.api.factory import Factory
from seatunnel_py.api.options.step import TransformOptions
from seatunnel_py.api.schema import Column, TableSchema
from seatunnel_py.api.types import NUMBER, Conversion, DataType, Kind, decimal, stored_as

if TYPE_CHECKING:
    import pyarrow as pa


class CatalystFactory(Factory):
    """A transform that is a query. Registered like any other transform."""

    options: ClassVar[type[TransformOptions]]

    @abstractmethod
    def query(self, options: Any) -> str:
        """The SELECT as written in the job file."""


class SparkFactory(Factory):
    """A step that Spark itself reads or writes: the objects that it creates may use the running application."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """Result of an analysis: the query's columns, Spark's text for it, whether it is narrow, and how repeatable it
    is."""

    query: str
    columns: tuple[Column, ...]
    narrow: bool
    determinism: Determinism
    why_not_determinate: str = ""


DECIMAL_DIGITS_MAX = 38
UNBOUNDED = decimal(DECIMAL_DIGITS_MAX, 18)
"""Type in which a query sees a number without bounds: texts could not be added. Values that do not fit are refused."""


def queried(table: TableSchema) -> TableSchema:
    """The table with the types that a query sees: Spark supports decimals of 38 digits and microseconds. Raises
    ValueError with the name of a column of more digits."""
    return replace(table, columns=tuple(replace(one, dtype=_queried(one.dtype, one.name)) for one in table.columns))


def _queried(dtype: DataType, column: str) -> DataType:
    if dtype.kind is Kind.DECIMAL and dtype.precision > DECIMAL_DIGITS_MAX:
        raise ValueError(
            f"column {column!r} is {dtype}, and a query computes with {DECIMAL_DIGITS_MAX} digits at most; take it out "
            "with Filter, or cast it where it is read"
        )
    if dtype == NUMBER:
        return UNBOUNDED
    return replace(
        dtype,
        unit="",
        element=dtype.element and _queried(dtype.element, column),
        key=dtype.key and _queried(dtype.key, column),
        fields=tuple((name, _queried(inner, column)) for name, inner in dtype.fields),
    )


def query_conversions(table: TableSchema) -> tuple[Conversion, ...]:
    """The columns that a query sees in another type."""
    pairs = zip(table.columns, queried(table).columns, strict=True)
    return tuple(
        Conversion(one.name, str(one.dtype), str(seen.dtype), stored_as(one.dtype, seen.dtype).note, checked=True)
        for one, seen in pairs
        if one.dtype != seen.dtype
    )


class SqlAnalyst(Protocol):
    """The planner's and the preview's interface to Catalyst."""

    def analyse(self, query: str, inputs: Mapping[str, TableSchema], dialect: str) -> Analysis:
        """Analyse a query over named inputs without reading a row. Raises ValueError with a text for the user."""

    def rows(self, query: str, inputs: Mapping[str, pa.Table]) -> pa.Table:
        """Run an analysed query (``Analysis.query``) over a few rows, for a preview."""
