"""Reports pending calls while a job is planned: a locked table or a network that drops packets gives no answer, and
there is no progress to show before the job runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from seatunnel_py.cli.view.terminal import say
from seatunnel_py.plan.plugins import pending_calls
from seatunnel_py.plan.plugins.pending_calls import PendingCalls

FIRST_SECONDS = 10.0  # then at growing intervals
LOOK_SECONDS = 1.0


@contextmanager
def patience() -> Iterator[None]:
    """Wraps a command. The notice goes to stderr, from its own thread."""
    ended = threading.Event()
    with pending_calls.watched() as calls:
        threading.Thread(target=_watch, args=(ended, calls), name="patience", daemon=True).start()
        try:
            yield
        finally:
            ended.set()


def _watch(ended: threading.Event, calls: PendingCalls) -> None:
    last, limit = None, FIRST_SECONDS
    while not ended.wait(LOOK_SECONDS):
        awaited = calls.oldest()
        if awaited is not last:
            last, limit = awaited, FIRST_SECONDS
        if awaited is not None and (seconds := time.monotonic() - awaited.since) > limit:
            limit *= 2
            say(
                f"{awaited.path}: no answer for {seconds:.0f} s ({awaited.method}); a lock at its server or the "
                "network may keep it",
                err=True,
            )
