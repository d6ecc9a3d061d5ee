"""Decides how much of a log its server keeps for tables that wait for a decision. Pure.

The log is kept from the oldest of their places on. A place that is older by more than ``schema-changes.log.max-bytes``
is given up: its table must be copied again, and the others keep theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seatunnel_py.api.batch import Position
from seatunnel_py.api.log_source import LogSource
from seatunnel_py.api.source import Split
from seatunnel_py.runtime.targets.held_change import HeldChange


@dataclass(frozen=True, slots=True)
class KeptLog:
    """``confirmed``: the position that the source may confirm; ``released``: the changes whose places are given up,
    with the bytes of log since then."""

    confirmed: Position
    released: tuple[tuple[HeldChange, int], ...] = ()


def kept_log(source: LogSource, split: Split, durable: Position, held: Iterable[HeldChange]) -> KeptLog:
    """Decide for a log whose oldest restorable checkpoint is at ``durable``."""
    allowed = source.schema_policy.log_bytes_max
    behind = [(one, source.log_bytes(split, one.position, durable)) for one in held]
    kept = [(size, at) for at, (_, size) in enumerate(behind) if 0 < size <= allowed]
    oldest = behind[max(kept)[1]][0].position if kept else durable
    return KeptLog(oldest, tuple((one, size) for one, size in behind if size > allowed))
