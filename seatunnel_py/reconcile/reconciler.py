"""Performs the comparison of a job's tables, look by look.

The first look adds up all rows by key range. The second one finds the keys that differ in the ranges that do. Later
looks are at these keys only, for all tables in turn, until each key is decided (``suspects``). The last look at a key
also shows its rows. A table whose look fails is not compared, and its error is reported; the others go on.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from seatunnel_py.errors import RetriableError, SeaTunnelError, worded
from seatunnel_py.reconcile import digests
from seatunnel_py.reconcile.comparisons import TableComparison, TargetRows
from seatunnel_py.reconcile.digests import differing_keys
from seatunnel_py.reconcile.looks import BothSides, KeyLook, WantedKeys, WantedRanges
from seatunnel_py.reconcile.lookups import VALUES_MAX, lookup_column, lookup_values, narrowed
from seatunnel_py.reconcile.repairs import DifferingKeys
from seatunnel_py.reconcile.report import ComparisonState, ReconcileReport, RowDifference, TableReport
from seatunnel_py.reconcile.row_differences import row_differences
from seatunnel_py.reconcile.row_hashes import Hashes
from seatunnel_py.reconcile.side_reader import source_paths, target_path
from seatunnel_py.reconcile.suspects import DifferenceKind, Suspects, kinds

T = TypeVar("T")

GROUP_ROWS_MAX = 2_000_000
"""Rows of each side whose hashes one look keeps: about 100 MB."""
SUSPECTS_MAX = 1_000_000
"""Keys that are decided; if more differ, the rest is not counted."""
ATTEMPTS = 3
PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.5, 5.0
MOVING_LOOKS_MIN = 4


@dataclass(frozen=True, slots=True)
class LookStarted:
    """A look at a table begins. ``number`` counts from 1; ``keys``: how many it looks at, 0: all."""

    table: str
    number: int
    keys: int = 0


@dataclass(frozen=True, slots=True)
class RowsRead:
    """How many rows of one side this look has read."""

    table: str
    side: str
    rows: int


@dataclass(frozen=True, slots=True)
class LookFailed:
    """A table is not compared because of this error."""

    table: str
    error: Exception


ReconcileNews = LookStarted | RowsRead | LookFailed | TableReport
"""``TableReport``: a table is done."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long rows may take to arrive. ``settle``: for tables whose changes are followed; others need no waiting."""

    settle: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass(slots=True, eq=False)
class _OpenTable:
    """A table whose comparison has begun. ``sides``: readers of the keys that are left."""

    comparison: TableComparison
    sides: BothSides
    settle: float
    source_rows: int = 0
    target_rows: int = 0
    source_unreadable: int = 0
    target_unreadable: int = 0
    more: bool = False
    looks: int = 1
    found: int = 0
    suspects: Suspects = field(default_factory=lambda: Suspects.joined(()))
    counts: Counter[str] = field(default_factory=Counter)
    differences: list[RowDifference] = field(default_factory=list)
    differing: list[Hashes] = field(default_factory=list)
    values: set[str] | None = field(default_factory=set)

    def differ(self, keys: Hashes, look: KeyLook) -> None:
        """Keep keys that differ, and values that find their rows; None: they cannot be found so."""
        self.differing.append(keys)
        values = lookup_values(self.comparison, look, keys)
        self.values = self.values | {*values} if self.values is not None and values else None

    def found_keys(self) -> DifferingKeys:
        column = lookup_column(self.comparison)
        name = column.name if column is not None and self.values and len(self.values) <= VALUES_MAX else ""
        keys = np.concatenate([np.zeros(0, np.uint64), *self.differing])
        values = tuple(sorted(self.values or ())) if name else ()
        return DifferingKeys(keys, self.comparison.follows, len(self.comparison.paths), name, values)

    @property
    def left(self) -> int:
        return len(self.suspects.keys)


class Reconciler:
    """``limit``: how many differing keys of each table are shown; ``differing``: all of them, by table and target."""

    def __init__(self, patience: Patience, limit: int, tell: Callable[[ReconcileNews], None]) -> None:
        self._patience, self._limit, self._tell = patience, limit, tell
        self.differing: dict[tuple[str, str], DifferingKeys] = {}

    def compare(
        self, targets: Sequence[TargetRows], open_table: Callable[[TargetRows], TableComparison]
    ) -> ReconcileReport:
        """Compare all tables. Tables with undecided keys are looked at again in turn, so that they settle together."""
        reports: dict[int, TableReport] = {}
        waiting: dict[int, _OpenTable] = {}
        for at, rows in enumerate(targets):
            try:
                table = self._begun(open_table(rows))
            except Exception as error:  # noqa: BLE001 - of any plugin; it is reported, and the other tables go on
                reports[at] = self._failed(rows, error)
                continue
            if table.left:
                waiting[at] = table
            else:
                reports[at] = self._done(_report(table))
        reports.update(self._settled(waiting))
        return ReconcileReport(tuple(reports[at] for at in range(len(targets))))

    def _done(self, report: TableReport) -> TableReport:
        self._tell(report)
        return report

    def _failed(self, rows: TargetRows | TableComparison, error: Exception) -> TableReport:
        self._tell(LookFailed(rows.table, error))
        known = error if isinstance(error, SeaTunnelError) else SeaTunnelError(worded(error))
        state = ComparisonState.NOT_COMPARED
        return self._done(TableReport(rows.table, rows.target, state, reason=known.message, remedy=known.remedy))

    # ---------------------------------------------------------------- looks

    def _begun(self, comparison: TableComparison) -> _OpenTable:
        """The first two looks at a table."""
        sides = BothSides(tuple(source_paths(comparison)), target_path(comparison))
        settle = self._patience.settle if comparison.follows else 0.0
        table = _OpenTable(comparison, sides, settle)
        self._tell(LookStarted(comparison.table, 1))
        both = self._patiently(lambda: sides.digests(self._progress(comparison)))
        source, target = (side.digests for side in both)
        table.source_rows, table.target_rows = source.total, target.total
        table.source_unreadable, table.target_unreadable = (side.unreadable for side in both)
        ranges = digests.differing(source, target)
        if len(ranges):
            self._find_suspects(table, digests.groups(ranges, source, target, GROUP_ROWS_MAX))
        return table

    def _find_suspects(self, table: _OpenTable, groups: Sequence[Any]) -> None:
        for ranges in groups:
            if table.left >= SUSPECTS_MAX:
                table.more = True
                break
            look = self._look(table, WantedRanges.of(ranges))
            keys = differing_keys(look.look.source, look.look.target)
            table.suspects = Suspects.joined((table.suspects, Suspects.found(keys, look.look)))
            if len(groups) == 1:
                table.sides = narrowed(table.sides, table.comparison, look, keys)
        table.found = table.left

    def _look(self, table: _OpenTable, wanted: WantedRanges | WantedKeys) -> KeyLook:
        table.looks += 1
        keys = len(wanted.keys) if isinstance(wanted, WantedKeys) else 0
        self._tell(LookStarted(table.comparison.table, table.looks, keys))
        clock, progress = self._patience.clock, self._progress(table.comparison)
        return self._patiently(lambda: table.sides.keys(wanted, clock, progress))

    def _progress(self, comparison: TableComparison) -> Callable[[str, int], None]:
        return lambda side, rows: self._tell(RowsRead(comparison.table, side, rows))

    def _patiently(self, look: Callable[[], T]) -> T:
        """Repeat a look whose connection was lost."""
        for attempt in range(1, ATTEMPTS):
            try:
                return look()
            except RetriableError:
                self._patience.sleep(float(attempt))
        return look()

    # ---------------------------------------------------------------- later looks

    def _settled(self, waiting: dict[int, _OpenTable]) -> Iterator[tuple[int, TableReport]]:
        """Look at the keys that are left, for all tables in turn, until none is left or too many looks were in vain."""
        began, pause = self._patience.clock(), PAUSE_SECONDS_MIN
        while waiting:
            self._patience.sleep(min(pause, max(table.settle for table in waiting.values())))
            pause = min(2 * pause, PAUSE_SECONDS_MAX)
            for at, table in tuple(waiting.items()):
                try:
                    self._look_again(table)
                except Exception as error:  # noqa: BLE001 - as above
                    del waiting[at]
                    yield at, self._failed(table.comparison, error)
                    continue
                in_vain = table.looks >= MOVING_LOOKS_MIN and self._patience.clock() - began > 2 * table.settle
                if not table.left or in_vain:
                    del waiting[at]
                    yield at, self._done(_report(table))

    def _look_again(self, table: _OpenTable) -> None:
        look = self._look(table, WantedKeys(table.suspects.keys))
        table.suspects, differ = table.suspects.after(look.look, table.settle)
        if not len(differ):
            return
        table.differ(differ, look)
        self.differing[table.comparison.table, table.comparison.target] = table.found_keys()
        table.counts.update(kind.value for kind in kinds(differ, look.look))
        shown = differ[: self._limit - len(table.differences)]
        if len(shown) and (look.source is None or look.target is None):
            look = self._look(table, WantedKeys(shown))  # few enough to keep their rows
        table.differences += row_differences(table.comparison, shown, look)


def _report(table: _OpenTable) -> TableReport:
    compared = table.comparison
    late = table.found - sum(table.counts.values()) - table.left
    return TableReport(
        compared.table, compared.target, _state(table), table.source_rows, table.target_rows, dict(table.counts),
        more=table.more, late=late, moving=table.left, source_unreadable=table.source_unreadable,
        target_unreadable=table.target_unreadable, by_key=compared.key if compared.has_key else (),
        differences=tuple(table.differences),
    )  # fmt: skip


def _state(table: _OpenTable) -> ComparisonState:
    """A row that is missing on one side may be one that cannot be read there."""
    differing, unreadable = sum(table.counts.values()), table.source_unreadable + table.target_unreadable
    doubtful = min(table.counts[DifferenceKind.MISSING.value], table.target_unreadable)
    doubtful += min(table.counts[DifferenceKind.SURPLUS.value], table.source_unreadable)
    if table.more or differing > doubtful:
        return ComparisonState.DIFFERENT
    return ComparisonState.UNDECIDED if table.left or unreadable else ComparisonState.EQUAL
