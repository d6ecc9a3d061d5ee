"""Enforces deadlines on the driver, for workers that cannot do it themselves (a call that never releases the
interpreter): ends their jobs after a grace period."""

from __future__ import annotations

import threading
from collections.abc import Callable

GRACE_SECONDS = 30.0  # a cold worker starts in a few seconds, on a busy cluster the task waits for a core


def overdue(seconds: float, cancel: Callable[[str], None], group: str) -> threading.Timer:
    """Cancel this job group after so many seconds plus the grace period, unless the timer is cancelled."""
    timer = threading.Timer(GRACE_SECONDS + seconds, cancel, args=(group,))
    timer.daemon = True
    timer.start()
    return timer
