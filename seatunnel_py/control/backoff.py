"""How long a failed run waits before it is restored. Pure."""

from __future__ import annotations

FIRST_SECONDS = 5.0
FACTOR = 2.0
SECONDS_MAX = 600.0
JITTER = 0.2
HEALTHY_SECONDS = 600.0
"""A driver that was alive for so long begins a new count of failures."""


def backoff_seconds(failures: int, random: float) -> float:
    """Seconds to wait after so many ``failures`` in a row, at least 1; ``random``: from 0 to 1, so that runs that
    failed together do not come back together."""
    exponent = min(max(failures, 1) - 1, 32)
    return min(FIRST_SECONDS * FACTOR**exponent, SECONDS_MAX) * (1 + JITTER * (2 * random - 1))
