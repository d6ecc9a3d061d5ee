"""Remembers verified tokens and sessions for a moment: a page asks many times a second.

Rules. (1) Only a valid one is remembered, for less than half a second, so that a revoked one ends within a second. (2)
Its text is not kept, only a digest. (3) Memory is bounded: the oldest go first.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, Protocol, TypeVar

from sqlalchemy import Connection

from seatunnel_py.control.store.database import Database, StoreUnreadableError
from seatunnel_py.web.problems import ApiError

REMEMBERED_SECONDS = 0.4
REMEMBERED_MAX = 1_000


class Verified(Protocol):
    """A token or a session."""

    def valid(self, now: float) -> bool:
        """Whether it is good at this time."""


_T = TypeVar("_T", bound=Verified)


class VerifiedCache(Generic[_T]):
    """``verify``: finds the valid one of a text in the database; None: there is none."""

    def __init__(self, database: Database, verify: Callable[[Connection, str, float], _T | None]) -> None:
        self._database, self._verify = database, verify
        self._known: OrderedDict[str, tuple[float, _T]] = OrderedDict()
        self._lock = Lock()

    def find(self, text: str) -> tuple[_T | None, bool]:
        """The valid one of this text, and whether the database was asked. Raises ApiError if it cannot be read."""
        key = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        now = time.monotonic()
        with self._lock:
            at, known = self._known.get(key, (0.0, None))
        if known is not None and now - at < REMEMBERED_SECONDS and known.valid(time.time()):
            return known, False
        try:
            with self._database.reading() as connection:
                found = self._verify(connection, text, time.time())
        except StoreUnreadableError as error:
            raise ApiError(503, "database", error.message, error.remedy) from None
        with self._lock:
            self._known.pop(key, None)
            if found is not None:
                self._known[key] = (now, found)
            while len(self._known) > REMEMBERED_MAX:
                self._known.popitem(last=False)
        return found, True

    def forget(self) -> None:
        """Read all again at their next request: one has ended."""
        with self._lock:
            self._known.clear()
