"""The targets of one job. Several upstream tables may go to one target: each has a sink of its own, and only the first
one of a run may empty or recreate the target.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from weakref import WeakValueDictionary


class JobTargets:
    """Data that the sinks of a job share. Used only on the driver, which decides all start effects; a worker gets an
    empty one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._prepared: dict[Hashable, dict[str, str]] = {}
        self._announced: dict[Hashable, WeakValueDictionary[str, object]] = {}

    def __reduce__(self) -> tuple[type[JobTargets], tuple[()]]:
        return JobTargets, ()

    def prepared_by_sibling(self, target: Hashable, upstream: str) -> bool:
        """Whether another upstream table of this run prepared the target already. A table that is prepared for the
        second time begins a new run."""
        with self._lock:
            seen = self._prepared.get(target, {})
            return bool(seen) and upstream not in seen

    def mark_prepared(self, target: Hashable, upstream: str, token: str) -> None:
        """Remember that this table prepared the target; ``token`` identifies the run, for repeated set-ups."""
        with self._lock:
            seen = self._prepared.setdefault(target, {})
            if seen.get(upstream, token) != token:
                seen.clear()
            seen[upstream] = token

    def announce(self, target: Hashable, upstream: str, sink: object) -> None:
        """A sink is made, as all of a job are before any of them looks at its target; forgotten with it."""
        with self._lock:
            self._announced.setdefault(target, WeakValueDictionary())[upstream] = sink

    def is_shared(self, target: Hashable, upstream: str) -> bool:
        """Whether another sink of the job writes to this target as well."""
        with self._lock:
            return any(one != upstream for one in self._announced.get(target, ()))
