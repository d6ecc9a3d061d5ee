"""Many coordinators under one roof: their records go to the store together.

A job of hundreds of tables has as many pipelines; a durable write for each record would cost more than their rows. So
records that become ready while a write is under way travel together with the next one.

Rules. (HU1) At most one write is under way; it is one durable act for all records in it (I10). (HU2) Everything else
passes as it came, in its order. (HU3) A pipeline's outcome is its own: what one of them says concerns no other
(O5.1).

May not know: what a checkpoint is for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from seatunnel_py.protocol.coordinator.commands import CoordinatorCommand, Persist
from seatunnel_py.protocol.coordinator.coordinator import Coordinator
from seatunnel_py.protocol.coordinator.events import CoordinatorEvent, Persisted, PersistFailed
from seatunnel_py.protocol.model.records import CheckpointRecord


@dataclass(frozen=True, slots=True)
class PersistTogether:
    """Store all these records (by pipeline) in one durable write. Answer: ``CoordinatorGroup.stored`` with its
    number."""

    number: int
    records: Mapping[str, CheckpointRecord]


@dataclass(frozen=True, slots=True)
class AddressedCommand:
    """A command of the pipeline's coordinator."""

    pipeline: str
    command: CoordinatorCommand


HubCommand: TypeAlias = AddressedCommand | PersistTogether


class CoordinatorGroup:
    """Hands events to coordinators and gathers what they say. Who ``holds`` records says when they are written."""

    def __init__(self, coordinators: Mapping[str, Coordinator], *, holds: bool = False) -> None:
        self.coordinators = dict(coordinators)
        self._holds = holds
        self._waiting: dict[str, CheckpointRecord] = {}
        self._under_way: PersistTogether | None = None
        self._writes = 0

    def handle(self, pipeline: str, event: CoordinatorEvent) -> tuple[HubCommand, ...]:
        """What this event leads to."""
        return (*self._heard(pipeline, event), *self._write())

    def stored(self, at: float, number: int, *, ok: bool, fenced: bool = False) -> tuple[HubCommand, ...]:
        """The write with that number has ended, for all its records alike."""
        write = self._under_way
        if write is None or write.number != number:
            return ()
        self._under_way = None
        said: list[HubCommand] = []
        for pipeline, record in write.records.items():
            event = Persisted(at, record.checkpoint) if ok else PersistFailed(at, record.checkpoint, fenced)
            said.extend(self._heard(pipeline, event))
        return (*said, *self._write())

    @property
    def writing(self) -> bool:
        """A write is under way."""
        return self._under_way is not None

    @property
    def waiting(self) -> Mapping[str, CheckpointRecord]:
        """Records that the next write will hold."""
        return self._waiting

    def write(self) -> tuple[PersistTogether, ...]:
        """Write what waits, unless a write is under way: what comes meanwhile goes with the next one."""
        if self._under_way is not None or not self._waiting:
            return ()
        self._writes += 1
        self._under_way = PersistTogether(self._writes, self._waiting)
        self._waiting = {}
        return (self._under_way,)

    def _heard(self, pipeline: str, event: CoordinatorEvent) -> list[HubCommand]:
        said: list[HubCommand] = []
        for command in self.coordinators[pipeline].handle(event):
            if isinstance(command, Persist):
                self._waiting[pipeline] = command.record
            else:
                said.append(AddressedCommand(pipeline, command))
        return said

    def _write(self) -> tuple[PersistTogether, ...]:
        return () if self._holds else self.write()
