"""Finds the changes among the rows of a batch: one row each, but two for an update with the row before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from seatunnel_py.api import Batch, RowKind
from seatunnel_py.formats.json.changes import followed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class RowChanges:
    """Masks of rows. ``went``: the row is gone after the change; ``paired``: the row before it is the one before the
    update; ``kept``: the row stands for a change; ``updated``: it is the row after an update. A row before an update
    without a row after it, because a unit ended between them, is gone."""

    went: npt.NDArray[np.bool_]
    paired: npt.NDArray[np.bool_]
    kept: npt.NDArray[np.bool_]
    updated: npt.NDArray[np.bool_]

    @staticmethod
    def of(batch: Batch) -> RowChanges:
        import numpy as np

        if batch.kinds is None:
            no = np.zeros(batch.rows, bool)
            return RowChanges(no, no, ~no, no)
        kinds = np.asarray(batch.kinds)
        before, updated = kinds == RowKind.UPDATE_BEFORE, kinds == RowKind.UPDATE_AFTER
        first = followed(kinds, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER)
        return RowChanges(before | (kinds == RowKind.DELETE), np.roll(first, 1), ~first, updated)

    def operations(self, copied: pa.Array) -> list[str]:
        """The letter of each change: created, updated, deleted, or read by a copy."""
        import numpy as np

        letters = np.where(np.asarray(copied), "r", np.where(self.went, "d", np.where(self.updated, "u", "c")))
        found: list[str] = letters.tolist()
        return found
