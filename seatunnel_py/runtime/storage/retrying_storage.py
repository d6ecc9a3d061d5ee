"""Retries a storage that is temporarily unavailable: a restarted server must not end a job of a thousand tables.

Rules. (1) A RetriableError is retried with growing pauses. Every call may be executed twice: after ``create`` the
content is compared, and duplicate journal lines have no effect. (2) A batch job waits up to ``AWAY_SECONDS_MAX``, a
stream without limit. (3) The begin and the end of an outage are reported once each. (4) Before the job runs there are
no retries, so that a wrong address is reported at once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from seatunnel_py.api.storage import Storage
from seatunnel_py.errors import RetriableError
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.runtime.observe.events import JobEvent, StoreUnavailable

AWAY_SECONDS_MAX = 60.0
QUIET_SECONDS = 1.0  # shorter outages are not reported
PAUSES = Backoff(first=0.1, factor=2.0, longest=5.0)
T = TypeVar("T")


class RetryingStorage(Storage):
    """A storage with retries; ``endless``: without limit, for a stream. Called from one thread at a time."""

    def __init__(self, storage: Storage, *, endless: bool) -> None:
        self._storage = storage
        self._longest = math.inf if endless else AWAY_SECONDS_MAX
        self._tell: Callable[[JobEvent], None] | None = None

    def begin(self, tell: Callable[[JobEvent], None]) -> None:
        """Start to retry (rule 4), and report outages to ``tell``; from any thread."""
        self._tell = tell

    def create(self, name: str, data: bytes) -> bool:
        return self._patiently(lambda: self._storage.create(name, data))

    def append(self, name: str, data: bytes) -> None:
        self._patiently(lambda: self._storage.append(name, data))

    def get(self, name: str) -> bytes | None:
        return self._patiently(lambda: self._storage.get(name))

    def names(self, folder: str) -> Sequence[str]:
        return self._patiently(lambda: self._storage.names(folder))

    def delete(self, name: str) -> None:
        self._patiently(lambda: self._storage.delete(name))

    def describe(self, name: str) -> str:
        return self._storage.describe(name)

    def close(self) -> None:
        self._storage.close()

    def _patiently(self, act: Callable[[], T]) -> T:
        tell = self._tell
        if tell is None:
            return act()
        began, tries, told = time.monotonic(), 0, False
        while True:
            try:
                value = act()
            except RetriableError as error:
                away, pause = time.monotonic() - began, PAUSES.pause(tries)
                if away + pause > self._longest:
                    raise
                if not told and away >= QUIET_SECONDS:
                    told = True
                    tell(StoreUnavailable(error.message, away, time.time()))
                tries += 1
                time.sleep(pause)
            else:
                if told:
                    tell(StoreUnavailable("", time.monotonic() - began, time.time()))
                return value
