"""Several upstream tables may go to one target: each has a sink of its own, and only the first one of a run may empty
or recreate the target. Kept in memory, on the driver, where all start effects of a job are decided.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from weakref import WeakValueDictionary

_lock = threading.Lock()
_prepared: dict[Hashable, dict[str, str]] = {}
_announced: dict[Hashable, WeakValueDictionary[str, object]] = {}
TARGETS_MAX = 100_000  # a bound on memory for a process that runs jobs for ever; older ones are forgotten


def prepared_by_sibling(target: Hashable, upstream: str) -> bool:
    """Whether another upstream table of this run prepared the target already. A table that is prepared for the
    second time begins a new run."""
    with _lock:
        seen = _prepared.get(target, {})
        return bool(seen) and upstream not in seen


def mark_prepared(target: Hashable, upstream: str, token: str) -> None:
    """Remember who prepared the target; ``token`` tells a repeated set-up from a new run."""
    with _lock:
        seen = _prepared.setdefault(target, {})
        if seen.get(upstream, token) != token:
            seen.clear()
        seen[upstream] = token
        while len(_prepared) > TARGETS_MAX:
            del _prepared[next(iter(_prepared))]


def announce(target: Hashable, upstream: str, sink: object) -> None:
    """A sink is made, as all of a job are before any of them looks at its target; forgotten with it."""
    with _lock:
        _announced.setdefault(target, WeakValueDictionary())[upstream] = sink
        for one in [one for one, sinks in _announced.items() if not sinks]:
            del _announced[one]


def shared(target: Hashable, upstream: str) -> bool:
    """Whether another sink of the job writes to this target as well."""
    with _lock:
        return any(one != upstream for one in _announced.get(target, ()))
