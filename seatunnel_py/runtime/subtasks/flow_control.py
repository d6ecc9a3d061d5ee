"""Decides whether a source pauses before its next unit, although there is more to read. Pure.

Rules. (1) It waits while ``checkpoint.max-uncommitted`` checkpoints of its pipeline are completed and not confirmed: no
other is begun, so that more rows would only accumulate before an unreachable target. (2) A source with segments waits
while the segments of its job reach their maximum size (``segment_retention.py``). (3) This causes no deadlock: commits
need no source, and a barrier passes a waiting source. A source that repeats units after a restart does not wait: no
barrier passes in between, and these rows were within the limit before. (4) A confirmed commit resumes it at once.
"""

from __future__ import annotations

from enum import StrEnum


class PauseReason(StrEnum):
    """The reason of a pause; the value is for messages."""

    COMMITS = "as many checkpoints are completed and not committed as checkpoint.max-uncommitted allows"
    EXCHANGE = "what lies on channels takes all of exchange.max-bytes"


def pause(*, reads_again: bool, lag: int, max_uncommitted: int, exchange_full: bool) -> PauseReason | None:
    """Why a source may not begin its next unit; None: it may. ``lag``: completed checkpoints that are not committed
    yet; ``exchange_full``: it makes segments, and there is no room for them."""
    if reads_again:
        return None
    if lag >= max_uncommitted:
        return PauseReason.COMMITS
    return PauseReason.EXCHANGE if exchange_full else None
