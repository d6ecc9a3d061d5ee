"""What plugins are asked while a job is planned, and since when: for whoever wonders why nothing happens."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Awaited:
    """``path``: of the step, as the job file has it; ``since`` on the clock that nobody sets."""

    path: str
    method: str
    since: float


_open: dict[int, Awaited] = {}
"""By thread: each waits for one answer."""


@contextmanager
def asking(path: str, method: str) -> Iterator[None]:
    """Around a call of a plugin."""
    thread = threading.get_ident()
    _open[thread] = Awaited(path, method, time.monotonic())
    try:
        yield
    finally:
        _open.pop(thread, None)


def oldest() -> Awaited | None:
    """What has been waited for the longest."""
    return min(tuple(_open.values()), key=lambda one: one.since, default=None)
