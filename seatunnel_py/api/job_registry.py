"""Objects that the plugins of one job share while the job is planned and run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class JobRegistry:
    """One object of each class, made when a plugin asks for it first. It lives as long as its job, on the driver.

    Each table has a sink of its own: what the sinks of one step have to agree on stands in such an object. No module
    needs variables for it, and two jobs in one process do not see each other's. A worker gets an empty registry.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[Callable[[], Any], Any] = {}

    def get(self, kind: Callable[[], T]) -> T:
        """The job's object of this class. Its methods are called from several threads."""
        with self._lock:
            if kind not in self._made:
                self._made[kind] = kind()
            made: T = self._made[kind]
            return made

    def __reduce__(self) -> tuple[type[JobRegistry], tuple[()]]:
        return JobRegistry, ()
