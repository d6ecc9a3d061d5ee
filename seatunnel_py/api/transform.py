"""Transforms: batches in, batches out; schema in, schema out. Bound to one upstream table when made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from seatunnel_py.api.batch import Batch, Rejected
from seatunnel_py.api.schema import TableSchema


class LineageKind(StrEnum):
    """How an output depends on an input column: by its value (the first three), or by the rows that come out. The names
    are those of OpenLineage's column lineage."""

    IDENTITY = "IDENTITY"
    TRANSFORMATION = "TRANSFORMATION"
    AGGREGATION = "AGGREGATION"
    JOIN = "JOIN"
    GROUP_BY = "GROUP_BY"
    FILTER = "FILTER"
    SORT = "SORT"
    WINDOW = "WINDOW"
    CONDITIONAL = "CONDITIONAL"


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """An input column in a lineage. ``input``: the name of the input, empty if there is only one. ``masking``: the
    output does not show its value, as after hashing or encrypting."""

    column: str
    kind: LineageKind = LineageKind.IDENTITY
    masking: bool = False
    input: str = ""


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """The input columns that an output depends on. ``columns``: for every output column, those that its value is made
    of; ``rows``: those that decide which rows come out, and in which order."""

    columns: Mapping[str, tuple[ColumnUse, ...]]
    rows: tuple[ColumnUse, ...] = ()


class Transform(ABC):
    """Picklable; its constructor must not connect. Work on whole batches, without a Python loop over rows."""

    @abstractmethod
    def output(self) -> TableSchema | None:
        """Return the output schema; None drops the table. Raise ValueError for an option that does not fit the input,
        such as a missing field."""

    def side_outputs(self) -> Sequence[TableSchema]:
        """Return additional tables that ``apply`` may emit rows of, such as an error table."""
        return ()

    def column_lineage(self) -> ColumnLineage | None:
        """Return the lineage of ``output``: a change of an input column outside of it never changes an output column.
        None if it is unknown: every output column may depend on all input columns."""
        return None

    @abstractmethod
    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        """Transform one batch. Keep ``kinds``, ``absent`` and ``metadata`` aligned with the rows, and ``start`` and
        ``end`` unchanged. Yield refused rows as Rejected; never drop them silently."""

    def close(self) -> None:
        """Close resources at the end of the unit."""
        return
