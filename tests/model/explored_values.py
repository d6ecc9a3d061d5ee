"""Machines as values: a fast copy, and a canonical form in which times, statistics and absolute ids do not show.

Rules. (V1) Two machines with the same form behave alike in this world: what is left out is read by no decision here, or
only to find out that nothing follows (see ``LEFT_OUT``). (V2) Checkpoint ids are taken out of the form, and come back
as ranks among all ids of the whole state: machines only compare them, and a new one is above all. 0 stays 0, for it
means `none`. (V3) Frozen values are shared by copies, anything else is copied.
"""

from __future__ import annotations

import enum
from collections import deque
from dataclasses import fields, is_dataclass
from types import MethodType
from typing import Any

from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.model.topology import Topology

LEFT_OUT = frozenset(
    {
        # Times. No minimum pause, no stable period, no expiry by clock in this world: they decide nothing.
        *("at", "last_end", "started_at", "expires_at", "trigger_due", "said_at"),
        # Statistics (I37), and counts whose bounds lie beyond what the budget of faults allows.
        *("stale", "late", "retries", "failures", "count", "claim"),
        # The same for every state of an instance.
        *("settings", "backoff", "_timeout", "plan", "policy", "begins"),
        # For the sweeper of orphans, and for tables that are left out: neither is explored. Who hears of a completed
        # checkpoint once more forgets nothing more.
        *("dead_pieces", "since"),
    }
)
CHECKPOINT_IDS = frozenset(
    {
        *("checkpoint", "newest", "_called_off", "next_checkpoint", "previous", "stopped_by", "first"),
        *("continues", "ledgers", "refers_to", "committed", "_timed"),
    }
)
KEYED_BY_CHECKPOINT = frozenset({"pending", "asked_as", "completed", "records"})
ATOMS = (str, bool, type(None), float)


class Form:
    """A canonical form in the making: ``parts`` of text, and the checkpoint ``ids`` that were taken out."""

    __slots__ = ("ids", "parts", "seen")

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.ids: list[int] = []
        self.seen: set[int] = set()

    def value(self, value: Any, is_id: bool = False) -> None:
        kind = type(value)
        if kind is int:
            if is_id:
                self.parts.append("#")
                self.ids.append(value)
            else:
                self.parts.append(repr(value))
        elif kind in ATOMS:
            self.parts.append(repr(value))
        elif isinstance(value, enum.Enum):
            self.parts.append(value.name)
        elif kind in (tuple, list, deque):
            self.parts.append("(")
            for one in value:
                self.value(one, is_id)
            self.parts.append(")")
        elif kind in (set, frozenset):
            self._sorted(value, is_id)
        elif isinstance(value, dict):
            self._mapping(value, is_id, is_id)
        else:
            self._object(value)

    def _sorted(self, values: Any, is_id: bool) -> None:
        self.parts.append("{")
        for one in sorted(values):
            self.value(one, is_id)
        self.parts.append("}")

    def _mapping(self, values: dict[Any, Any], keys: bool, are_ids: bool) -> None:
        self.parts.append("[")
        for key in sorted(values):
            self.value(key, keys)
            self.value(values[key], are_ids)
        self.parts.append("]")

    def _object(self, value: Any) -> None:
        kind = type(value)
        if kind is Topology:
            levels = "".join(vertex.determinism[0] for vertex in value.vertices)
            widths = [vertex.parallelism for vertex in value.vertices]
            self.parts.append(f"<{value.version} {sorted(value.detached)} {levels} {widths}>")
            return
        if kind is CheckpointSettings:
            return
        if id(value) in self.seen:
            return
        if not _frozen(kind):
            self.seen.add(id(value))
        self.parts.append(kind.__name__)
        for name in _names(value):
            if name in LEFT_OUT:
                continue
            own = getattr(value, name)
            if isinstance(own, dict) and (name in KEYED_BY_CHECKPOINT or (name == "_snapshots" and _by_number(own))):
                self._mapping(own, True, False)
            else:
                # dict[str, int] of epochs are no ids; ``ledgers`` is: scope -> checkpoint
                self.value(own, name in CHECKPOINT_IDS)


def _by_number(values: dict[Any, Any]) -> bool:
    return all(type(key) is int for key in values)


def form(value: Any) -> tuple[str, tuple[int, ...]]:
    """The canonical form: a text, and the checkpoint ids in their order in it."""
    made = Form()
    made.value(value)
    return " ".join(made.parts), tuple(made.ids)


_FROZEN: dict[type, bool] = {}


def _frozen(kind: type) -> bool:
    known = _FROZEN.get(kind)
    if known is None:
        known = _FROZEN[kind] = is_dataclass(kind) and kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    return known


def _names(value: Any) -> tuple[str, ...]:
    kind = type(value)
    known = _NAMES.get(kind)
    if known is None:
        if is_dataclass(kind):
            known = tuple(one.name for one in fields(kind))
        else:
            slots = tuple(name for base in kind.__mro__ for name in getattr(base, "__slots__", ()))
            known = tuple(sorted((*slots, *getattr(value, "__dict__", ()))))
        _NAMES[kind] = known
    return known


_NAMES: dict[type, tuple[str, ...]] = {}


def clone(value: Any, made: dict[int, Any] | None = None) -> Any:
    """A copy that shares frozen values (V3)."""
    made = {} if made is None else made
    kind = type(value)
    if kind in (int, str, bool, tuple, frozenset, float, type(None)):
        return value
    if kind is dict:
        return {key: clone(one, made) for key, one in value.items()}
    if kind is list:
        return [clone(one, made) for one in value]
    if kind is deque:
        return deque(clone(one, made) for one in value)
    if kind is set:
        return set(value)
    if isinstance(value, enum.Enum) or _frozen(kind):
        return value
    if id(value) in made:
        return made[id(value)]
    if kind is MethodType:
        return MethodType(value.__func__, clone(value.__self__, made))
    copy = made[id(value)] = kind.__new__(kind)
    for name in _names(value):
        setattr(copy, name, clone(getattr(value, name), made))
    return copy


class Interned:
    """Values under small numbers: those of the same form, ids included, have the same number."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.shapes: list[int] = []
        """Number of value -> number of its form without ids."""
        self.ids: list[tuple[int, ...]] = []
        self._known: dict[tuple[str, tuple[int, ...]], int] = {}
        self._shapes: dict[str, int] = {}

    def number(self, value: Any) -> int:
        made = form(value)
        known = self._known.get(made)
        if known is None:
            known = self._known[made] = len(self.values)
            self.values.append(value)
            self.shapes.append(self._shapes.setdefault(made[0], len(self._shapes)))
            self.ids.append(made[1])
        return known
