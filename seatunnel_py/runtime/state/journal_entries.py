"""The next steps after the lines of a journal entry are durable, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.runtime.messages.events import Admitted
from seatunnel_py.runtime.values.split_progress import SplitRound
from seatunnel_py.work.unit import UnitResult


@dataclass(frozen=True, slots=True)
class EmptyTargets:
    """The targets of a table that is copied again are emptied, and its pipeline is prepared."""

    event: Admitted


@dataclass(frozen=True, slots=True)
class Activate:
    """The coordinator begins."""


@dataclass(frozen=True, slots=True)
class Deliver:
    """A letter goes to this subtask, or to the coordinator where there is none."""

    subtask: Subtask | None
    event: Any


@dataclass(frozen=True, slots=True)
class AddRound:
    """More splits of this vertex are dealt out; ``report``: the result whose reader events led to them."""

    vertex: str
    found: SplitRound
    report: UnitResult | None = None


@dataclass(frozen=True, slots=True)
class DropAll:
    """The pipeline is given up, and what it staged is dropped."""


Entry: TypeAlias = EmptyTargets | Activate | Deliver | AddRound | DropAll
