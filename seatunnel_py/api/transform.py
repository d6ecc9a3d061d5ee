"""Transforms: batches in, batches out; schema in, schema out. Bound to one upstream table when made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from seatunnel_py.api.batch import Batch, Rejected
from seatunnel_py.api.schema import TableSchema


class Transform(ABC):
    """Picklable; its constructor must not connect. Work on whole batches, without a Python loop over rows."""

    @abstractmethod
    def output(self) -> TableSchema | None:
        """Return the output schema; None drops the table. Raise ValueError for an option that does not fit the input,
        such as a missing field."""

    def side_outputs(self) -> Sequence[TableSchema]:
        """Return additional tables that ``apply`` may emit rows of, such as an error table."""
        return ()

    @abstractmethod
    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        """Transform one batch. Keep ``kinds``, ``absent`` and ``metadata`` aligned with the rows, and ``start`` and
        ``end`` unchanged. Yield refused rows as Rejected; never drop them silently."""

    def close(self) -> None:
        """Close resources at the end of the unit."""
        return
