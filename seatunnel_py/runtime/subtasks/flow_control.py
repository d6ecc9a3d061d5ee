"""Why a source waits before it begins another unit, although there is more to read. Pure.

Rules. (1) It waits while ``checkpoint.max-uncommitted`` checkpoints of its pipeline are completed and not confirmed: no
other is begun, so what it read would only pile up behind a target that is away. (2) It waits while its job's segments
take all the room that they may, if it makes any (``segment_retention.py``). (3) Nothing that it waits for needs it:
commits come by themselves, a barrier passes a source that waits, and what it only reads again after a restart it does
read, for no barrier passes in between. (4) A confirmed commit sets it going at once.
"""

from __future__ import annotations

from enum import StrEnum


class PauseReason(StrEnum):
    """The value is what people read."""

    COMMITS = "as many checkpoints are completed and not committed as checkpoint.max-uncommitted allows"
    EXCHANGE = "what lies on channels takes all of exchange.max-bytes"


def pause(*, reads_again: bool, lag: int, max_uncommitted: int, exchange_full: bool) -> PauseReason | None:
    """What keeps a source from beginning its next unit. ``lag``: completed checkpoints that are not committed yet;
    ``exchange_full``: it makes segments, and there is no room for them."""
    if not reads_again and lag >= max_uncommitted:
        return PauseReason.COMMITS
    return PauseReason.EXCHANGE if exchange_full else None
