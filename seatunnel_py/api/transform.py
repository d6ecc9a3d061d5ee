"""Transforms: batches in, batches out; schema in, schema out. Bound to one upstream table when made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from seatunnel_py.api.batch import Batch, Rejected, SchemaChange
from seatunnel_py.api.schema import TableSchema


class Transform(ABC):
    """Picklable; opens nothing when made. Works on whole batches: no Python per row on a hot path."""

    @abstractmethod
    def output(self) -> TableSchema | None:
        """The schema of what comes out; None takes the table out of the flow. Raise ValueError with a clear text
        for an option that does not fit the input (a field that is not there)."""

    def side_outputs(self) -> Sequence[TableSchema]:
        """Further tables that ``apply`` may emit rows of, such as an error table."""
        return ()

    @abstractmethod
    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        """Transform one batch. Keep ``kinds``, ``absent`` and ``metadata`` in step with the rows; keep ``start``
        and ``end`` as they are. Rows that are refused come out as Rejected, never silently missing."""

    def change(self, change: SchemaChange) -> SchemaChange | None:
        """What the change looks like behind this step; None hides it. The default refuses."""
        raise ValueError(f"{type(self).__name__} cannot follow a schema change of {change.table}")

    def close(self) -> None:
        """The unit is over."""
        return
