"""The driver's own watch over deadlines, for workers that are past keeping them (a call that never lets go of the
interpreter): what they run for is ended from here, a grace later."""

from __future__ import annotations

import threading
from collections.abc import Callable

GRACE_SECONDS = 30.0  # a cold worker starts in a few seconds, on a busy cluster the task waits for a core


def overdue(seconds: float, cancel: Callable[[str], None], group: str) -> threading.Timer:
    """Cancel this job group when so many seconds and the grace are over, unless the timer is cancelled."""
    timer = threading.Timer(GRACE_SECONDS + seconds, cancel, args=(group,))
    timer.daemon = True
    timer.start()
    return timer
