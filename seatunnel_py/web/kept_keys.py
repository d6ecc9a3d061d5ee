"""Remembers what a key of idempotency has made, for a day: for acts whose trace is not in the database, as that of a
start is."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from seatunnel_py.control.store.intents import KEY_SECONDS, IdempotencyKeyError

KEYS_MAX = 10_000


class KeptKeys:
    """Keys with the digest of their request, and what it made. A server that starts again has forgotten them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[str, tuple[float, str, str]] = OrderedDict()
        self._lock = Lock()

    def once(self, key: str, digest: str, act: Callable[[], str]) -> str:
        """Perform an act, or return what it made with this key before. Raises IdempotencyKeyError if the key was used
        for another request."""
        if not key:
            return act()
        with self._lock:  # also while it is performed: the same request may come twice at the same time
            now = self._clock()
            at, before, made = self._kept.get(key, (0.0, "", ""))
            if before and now - at < KEY_SECONDS:
                if before != digest:
                    raise IdempotencyKeyError("this Idempotency-Key was used for another request", "make a new key")
                return made
            made = act()
            self._kept[key] = (now, digest, made)
            while len(self._kept) > KEYS_MAX:
                self._kept.popitem(last=False)
            return made
