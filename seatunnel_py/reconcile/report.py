"""Results of a comparison: plain, frozen data for the terminal and for machines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from seatunnel_py.api.text.shown import value_text
from seatunnel_py.errors import ExitCode
from seatunnel_py.reconcile.suspects import DifferenceKind


@dataclass(frozen=True, slots=True)
class ColumnDifference:
    """A column with different values in the rows of one key."""

    column: str
    source: Any
    target: Any


@dataclass(frozen=True, slots=True)
class RowDifference:
    """A key whose rows differ. ``key``: its values; the whole row where a table has no key. ``columns``: of the first
    row of each side, if both have one. The numbers of rows are 0 or 1 unless the key is there several times."""

    kind: DifferenceKind
    key: Mapping[str, Any]
    columns: tuple[ColumnDifference, ...] = ()
    source_rows: int = 0
    target_rows: int = 0


class ComparisonState(StrEnum):
    """Result for one table. UNDECIDED: some rows changed at the source at each look, or could not be read, and no other
    row differs."""

    EQUAL = "equal"
    DIFFERENT = "different"
    UNDECIDED = "undecided"
    NOT_COMPARED = "not compared"


@dataclass(frozen=True, slots=True)
class TableReport:
    """Result for the tables that one target holds. ``counts``: keys by the kind of their difference; ``more``: further
    keys differ, which were not counted; ``late``: keys that were equal at a later look; ``moving``: keys that are not
    decided; ``differences``: some of the keys that differ; ``by_key``: empty if whole rows are compared. Unreadable
    rows hold values that their column's type does not have; they are compared with nothing."""

    table: str
    target: str
    state: ComparisonState
    source_rows: int = 0
    target_rows: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    more: bool = False
    late: int = 0
    moving: int = 0
    source_unreadable: int = 0
    target_unreadable: int = 0
    by_key: tuple[str, ...] = ()
    differences: tuple[RowDifference, ...] = ()
    reason: str = ""
    remedy: str = ""

    @property
    def differing(self) -> int:
        return sum(self.counts.values())

    @property
    def unreadable(self) -> int:
        return self.source_unreadable + self.target_unreadable


@dataclass(frozen=True, slots=True)
class ReconcileReport:
    """Result for all tables of a job."""

    tables: tuple[TableReport, ...]

    @property
    def compared(self) -> Sequence[TableReport]:
        return [one for one in self.tables if one.state is not ComparisonState.NOT_COMPARED]

    @property
    def rows(self) -> int:
        """Rows of the sources that were compared."""
        return sum(one.source_rows for one in self.compared)

    @property
    def differing(self) -> int:
        return sum(one.differing for one in self.tables)

    @property
    def exit_code(self) -> int:
        states = {one.state for one in self.tables}
        if ComparisonState.DIFFERENT in states:
            return ExitCode.FAILED
        return ExitCode.SUCCESS if states == {ComparisonState.EQUAL} else ExitCode.SOME_TABLES_FAILED

    def to_plain(self) -> dict[str, Any]:
        """The report as data for JSON."""
        tables = [plain_value(asdict(one)) | {"differing": one.differing} for one in self.tables]
        return {"rows": self.rows, "differing": self.differing, "exit_code": self.exit_code, "tables": tables}


def plain_value(value: Any) -> Any:
    """A value of ``shown_values`` as JSON can hold it: NaN, decimals and bytes become text."""
    match value:
        case dict():
            return {name: plain_value(one) for name, one in value.items()}
        case list() | tuple():
            return [plain_value(one) for one in value]
        case None | bool() | int() | str():
            return value
        case float() if math.isfinite(value):
            return value
    return value_text(value)
