"""Decides how the differing rows of a comparison are repaired. Pure.

A followed table is refreshed for exactly the keys that differ (``row_refresh.py``). Other tables are refused by name,
with the way that is exact for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seatunnel_py.plan.tables.table_refresh import RefreshWish
from seatunnel_py.reconcile.report import TableReport
from seatunnel_py.reconcile.row_hashes import Hashes
from seatunnel_py.reconcile.suspects import DifferenceKind

KEYS_MAX = 100_000
"""Keys of one request; more of them are a range or a whole table."""


@dataclass(frozen=True, slots=True, eq=False)
class DifferingKeys:
    """The keys of one comparison that differ, by their hashes. ``follows``: changes of the table are followed;
    ``sources``: the number of tables that share the target; ``column`` and ``values`` find these rows, and perhaps
    others; empty: they cannot be looked up."""

    keys: Hashes
    follows: bool
    sources: int = 1
    column: str = ""
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableRepair:
    """The repair of one target. ``inserts``, ``updates`` and ``deletes`` of rows in the target; ``wish``: None if it is
    not repaired, for this ``reason``."""

    table: str
    target: str
    inserts: int
    updates: int
    deletes: int
    wish: RefreshWish | None = None
    reason: str = ""
    remedy: str = ""

    @property
    def rows(self) -> int:
        return self.inserts + self.updates + self.deletes

    def to_plain(self) -> dict[str, Any]:
        """The repair as data for JSON."""
        counts = {"insert": self.inserts, "update": self.updates, "delete": self.deletes}
        about = {"table": self.table, "target": self.target, **counts}
        return about if self.wish is not None else {**about, "reason": self.reason, "remedy": self.remedy}


def planned(reports: Sequence[TableReport], found: Mapping[tuple[str, str], DifferingKeys]) -> tuple[TableRepair, ...]:
    """The repairs of the tables that differ. ``found``: by table and target."""
    return tuple(_planned(one, found.get((one.table, one.target))) for one in reports if one.differing or one.more)


def _planned(report: TableReport, found: DifferingKeys | None) -> TableRepair:
    kinds = (DifferenceKind.MISSING, DifferenceKind.DIFFERENT, DifferenceKind.SURPLUS)
    inserts, updates, deletes = (report.counts.get(kind.value, 0) for kind in kinds)
    if found is None or not found.follows:
        why = "the job does not follow a log of this table", (
            "run the job again: a sink that writes by key replaces rows, and data_save_mode = DROP_DATA removes "
            "surplus ones"
        )  # fmt: skip
    elif not report.by_key:
        why = (
            "the table has no key by which to replace rows",
            "`seatunnel table reset JOB TABLE` copies it again",
        )
    elif found.sources > 1:
        why = "rows of several tables are in this target", "correct its rows with statements of your own"
    elif report.more or len(found.keys) > KEYS_MAX:
        why = f"more than {KEYS_MAX:,} rows differ", "`seatunnel table refresh JOB TABLE` reads the whole table again"
    else:
        keys = frozenset(map(int, found.keys))
        wish = RefreshWish("", report.table, column=found.column, values=found.values, keys=keys)
        return TableRepair(report.table, report.target, inserts, updates, deletes, wish)
    return TableRepair(report.table, report.target, inserts, updates, deletes, None, *why)
