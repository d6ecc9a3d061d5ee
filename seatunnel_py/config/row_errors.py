"""Translates SeaTunnel's ``error_handler`` and ``dirty.collector`` (experimental there) to ``error.max-rows`` and
``error.max-ratio``.

LOG and ROUTE let bad rows pass up to their limits, and without limits all of them; here both quarantine such rows. Of
several handlers the most tolerant one counts, for ours is independent of the step that refused a row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from seatunnel_py.api.options import Options, option
from seatunnel_py.nouns import counted

SET_ASIDE = "bad rows are quarantined, up to {}; `seatunnel quarantine` shows them"


_KEPT = "accepted; the quarantine keeps the rows as they came, and why"
_NO_QUEUE = "accepted; bad rows wait in no queue"


class HandlerMode(StrEnum):
    """Effect on a row that a step refuses."""

    DISABLE = "DISABLE"
    LOG = "LOG"
    ROUTE = "ROUTE"


class BadRowsAllowed(Options, ABC):
    """An option of SeaTunnel that lets bad rows pass."""

    @property
    @abstractmethod
    def allows(self) -> tuple[int, float]:
        """Allowed number of bad rows, and their allowed share; 0 sets no such limit, and both 0 allow none at all."""


class DirtyCollector(BadRowsAllowed):
    """SeaTunnel's place for rows that a writer refuses. Without ``fail_on_threshold`` their number is unlimited."""

    type: str | None = option(None, doc="name of the collector; here always the quarantine")
    threshold: int = option(-1, doc="number of bad rows at which the job fails; -1: none")
    fail_on_threshold: bool = option(False, doc="whether the job fails then")
    log_level: str = option("WARN", doc=_KEPT)
    include_stack_trace: bool = option(False, doc=_KEPT)

    @property
    def allows(self) -> tuple[int, float]:
        if self.type is None:
            return 0, 0.0
        return (self.threshold, 0.0) if self.fail_on_threshold and self.threshold >= 0 else (0, 1.0)


class RowErrorHandler(BadRowsAllowed):
    """Which rows SeaTunnel sets aside, and up to which limits."""

    mode: HandlerMode = option(
        HandlerMode.DISABLE,
        doc="DISABLE: a bad row fails its table; LOG and ROUTE set bad rows aside, up to the limits",
    )
    max_error_records: int = option(0, ge=0, doc="bad rows set aside before a table fails; 0: no limit of this kind")
    max_error_ratio: float = option(
        0.0, ge=0, le=1, doc="share of bad rows set aside before a table fails; 0: no limit of this kind"
    )
    max_error_ratio_min_records: int = option(10_000, ge=0, doc="accepted; a share is judged when everything was read")
    queue_capacity: int = option(10_000, ge=1, doc=_NO_QUEUE)
    queue_overflow_policy: str = option("FAIL", doc=_NO_QUEUE)
    include_original_data: bool = option(False, doc=_KEPT)
    include_stacktrace: bool = option(False, doc=_KEPT)
    original_data_format: str = option("TEXT", doc=_KEPT)
    original_data_max_length: int = option(8192, ge=0, doc=_KEPT)
    sink: dict[str, Any] = option({}, doc=_KEPT)

    @property
    def allows(self) -> tuple[int, float]:
        if self.mode is HandlerMode.DISABLE:
            return 0, 0.0
        if not self.max_error_records and not self.max_error_ratio:
            return 0, 1.0
        return self.max_error_records, self.max_error_ratio


def allowed(own: tuple[int, float], handlers: Iterable[BadRowsAllowed]) -> tuple[int, float]:
    """Limits of ``error.*`` if it is set, else of the most tolerant handler."""
    if any(own):
        return own
    return max((handler.allows for handler in handlers), key=lambda one: (one[1], one[0]), default=own)


def described(limits: tuple[int, float]) -> str:
    """A note for the user."""
    rows, ratio = limits
    said = [counted(rows, "row")] if rows else []
    said += [f"{ratio:.0%} of them"] if ratio else []
    return SET_ASIDE.format(" and ".join(said))
