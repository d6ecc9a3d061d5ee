"""Decides which notices of a job in trouble are sent, and when it has recovered. Pure.

Rules. (1) The first failure of a job opens its trouble; its next success, or its next progress, closes it. (2) A notice
of the same kind, run, cause and tables within ``FOLD_SECONDS`` is not sent: it is counted, and the next one that is
sent has their number. (3) A run has recovered if another driver has it, that driver has completed a checkpoint
since, and none of its tables has failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from seatunnel_py.control.notify.event_kinds import FOLDED, TROUBLES, EventKind
from seatunnel_py.control.notify.notice import Notice
from seatunnel_py.control.run_index import STALLED
from seatunnel_py.control.run_row import RunRow
from seatunnel_py.control.store.outbox.troubles import Trouble

FOLD_SECONDS = 3_600.0
_FAILED = ("FAILED", "ISOLATED")


@dataclass(frozen=True, slots=True)
class TroubleDecision:
    """``sent``: whether the notice is sent; ``folded``: how many equal ones were not, since the last that was;
    ``trouble``: to keep, None: there is none."""

    sent: bool
    trouble: Trouble | None
    folded: int = 0


def after(trouble: Trouble | None, notice: Notice, now: float) -> TroubleDecision:
    """The decision about a notice."""
    if trouble is None and notice.kind not in TROUBLES:
        return TroubleDecision(True, None)
    known = trouble or _opened(notice, now)
    before = known.reported.get(notice.kind.value, {})
    same = notice.kind in FOLDED and before.get("what") == notice.sameness
    folds = same and 0 <= now - float(before.get("at", 0.0)) < FOLD_SECONDS
    folded = int(before.get("folded", 0)) if same else 0
    entry: Mapping[str, Any] = (
        {**before, "folded": folded + 1} if folds else {"at": now, "what": notice.sameness, "folded": 0}
    )
    kept = replace(known, reported={**known.reported, notice.kind.value: entry})
    if notice.kind in TROUBLES:
        row = notice.of.row
        driver, position = (row.driver, row.position) if row is not None else ("", "")
        kept = replace(kept, run=notice.of.run, driver=driver, position=position)
    elif notice.kind in (EventKind.RUN_STARTED, EventKind.RUN_RESTORED):
        kept = replace(kept, run=notice.of.run)
    return TroubleDecision(not folds, kept, 0 if folds else folded)


def has_recovered(trouble: Trouble, row: RunRow) -> bool:
    """Whether the run of a trouble, which is alive, has recovered."""
    if not row.alive or row.state == STALLED or not row.driver:
        return False
    if any((row.tables or {}).get(state) for state in _FAILED):
        return False
    other = row.driver != trouble.driver or set(trouble.reported) == {EventKind.RUN_STALLED.value}
    return other and row.position not in ("", "0", trouble.position)


def _opened(notice: Notice, now: float) -> Trouble:
    row = notice.of.row
    driver, position = (row.driver, row.position) if row is not None else ("", "")
    return Trouble(notice.of.subject, notice.id, notice.of.run, driver, position, now)
