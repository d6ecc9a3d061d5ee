"""Counts the rows into and out of each step of a unit: rows are conserved (I6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seatunnel_py.api.capabilities import Cardinality
from seatunnel_py.api.schema import TablePath
from seatunnel_py.errors import FatalError
from seatunnel_py.work.chain import ChainTransform
from seatunnel_py.work.unit import StepCount


@dataclass(slots=True)
class StepTally:
    """The counts of one table at one step."""

    rows_in: int = 0
    rows_out: int = 0
    rejected: int = 0


class Balance:
    """The counts of one unit, by step and table."""

    def __init__(self) -> None:
        self._tallies: dict[tuple[str, TablePath], StepTally] = {}

    def at(self, step: str, table: TablePath) -> StepTally:
        return self._tallies.setdefault((step, table), StepTally())

    def passed(self, step: str, table: TablePath, rows: int) -> None:
        """Count rows that went in and came out."""
        tally = self.at(step, table)
        tally.rows_in += rows
        tally.rows_out += rows

    def rejected(self, step: str, table: TablePath, rows: int) -> None:
        """Count rows that went in and were quarantined."""
        tally = self.at(step, table)
        tally.rows_in += rows
        tally.rejected += rows

    def skipped(self, step: str, table: TablePath, rows: int) -> None:
        """Count rows that went in and were skipped."""
        self.at(step, table).rows_in += rows

    def adopt(self, other: Balance) -> None:
        """Add the counts of another flow over the same rows."""
        for key, tally in other._tallies.items():
            mine = self.at(*key)
            mine.rows_in += tally.rows_in
            mine.rows_out += tally.rows_out
            mine.rejected += tally.rejected

    def counts(self) -> Iterator[StepCount]:
        for (step, table), tally in self._tallies.items():
            yield StepCount(step, table, tally.rows_in, tally.rows_out, tally.rejected)

    def check(self, bound: ChainTransform) -> None:
        """Check that rows appear or vanish only as the step has declared. Raises FatalError."""
        tally = self._tallies.get((bound.step, bound.table))
        if tally is None or bound.cardinality is Cardinality.ANY:
            return
        after = tally.rows_out + tally.rejected
        if after > tally.rows_in or (after < tally.rows_in and bound.cardinality is Cardinality.ONE_TO_ONE):
            verb = "add" if after > tally.rows_in else "lose"
            raise FatalError(
                f"{tally.rows_in} rows of {bound.table} went in, {tally.rows_out} came out and "
                f"{tally.rejected} were refused: this step has declared that it does not {verb} rows"
            )
