"""Limits calls that wait for a lock: they end soon, and the error names the session that holds it.

The waiting session knows nothing once it has given up, so its server is queried during the wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from seatunnel_py.api.process.lock_waits import limited_lock_waits
from seatunnel_py.errors import RetriableError

LOCK_SECONDS = 3.0
ASK_AFTER_SECONDS = 1.0


class LockHolders:
    """Sentences on the sessions that hold locks; empty if nothing had to wait."""

    def __init__(self, blocked_by: Callable[[], Sequence[str]]) -> None:
        self.found: Sequence[str] = ()
        self._blocked_by = blocked_by
        self._timer = threading.Timer(ASK_AFTER_SECONDS, self._ask)
        self._timer.daemon = True

    def _ask(self) -> None:
        with suppress(Exception):  # a plugin's own code runs here, and the main call reports its failure
            self.found = tuple(self._blocked_by())

    def __enter__(self) -> LockHolders:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        if self._timer.is_alive():
            self._timer.join(LOCK_SECONDS)

    def add_to(self, message: str) -> str:
        return "; ".join([message, *self.found])


@contextmanager
def naming_holders(blocked_by: Callable[[], Sequence[str]]) -> Iterator[LockHolders]:
    """Wraps one call. A RetriableError caused by a lock names the holder."""
    with limited_lock_waits(LOCK_SECONDS):
        holders = LockHolders(blocked_by)
        try:
            with holders:
                yield holders
        except RetriableError as error:
            if not holders.found:
                raise
            raise RetriableError(holders.add_to(error.message), error.remedy) from error
