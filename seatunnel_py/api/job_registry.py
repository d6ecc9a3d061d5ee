"""Objects that the plugins of one job share while the job is planned and run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class JobRegistry:
    """Holds one object per class on the driver, created on first use and kept until the job ends.

    Each table has its own sink; the sinks of one step share data through such an object instead of module variables.
    Jobs in one process have separate registries. A worker gets an empty registry.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[Callable[[], Any], Any] = {}

    def get(self, kind: Callable[[], T]) -> T:
        """Return the job's object of this class. The object must be thread-safe."""
        with self._lock:
            if kind not in self._made:
                self._made[kind] = kind()
            made: T = self._made[kind]
            return made

    def __reduce__(self) -> tuple[type[JobRegistry], tuple[()]]:
        return JobRegistry, ()
