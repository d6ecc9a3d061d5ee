"""Names rows of a followed table that are read again, and the outcome. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class RefreshWish:
    """The wish of a request: the rows of a table that fulfil a condition of both databases, at the source or in the
    target; empty: all. ``keys``: only rows with these keys, by their hashes (``reconcile/row_hashes.py``). ``column``
    and ``values`` find these rows, and perhaps a few others, without reading the whole table; empty: that is not
    possible."""

    request: str
    table: str
    condition: str = ""
    column: str = ""
    values: tuple[str, ...] = ()
    keys: frozenset[int] = frozenset()

    @property
    def shown(self) -> str:
        """The rows, for messages."""
        if self.keys:
            return f"{self.table}: {len(self.keys):,} keys"
        return f"{self.table} where {self.condition}" if self.condition else self.table

    def rows_plain(self) -> dict[str, Any]:
        """The rows without request and table, for a request."""
        return {
            "condition": self.condition, "column": self.column, "values": list(self.values), "keys": sorted(self.keys)
        }  # fmt: skip

    @staticmethod
    def of(request: str, table: str, rows: Mapping[str, Any]) -> RefreshWish:
        """The inverse of ``rows_plain``."""
        return RefreshWish(
            request, table, str(rows.get("condition", "")), str(rows.get("column", "")),
            tuple(map(str, rows.get("values", ()))), frozenset(map(int, rows.get("keys", ()))),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RefreshOutcome:
    """``written`` rows were read at the source and written; ``removed`` rows were not there any more. ``done=False``:
    nothing was changed, for the reason ``text``."""

    wish: RefreshWish
    done: bool
    text: str
    remedy: str = ""
    written: int = 0
    removed: int = 0
    targets: tuple[str, ...] = field(default=())

    @property
    def about(self) -> dict[str, Any]:
        """The counts, for programs."""
        return {
            "table": self.wish.table, "written": self.written, "removed": self.removed, "targets": list(self.targets)
        }  # fmt: skip
