"""A storage in memory, which outlives all drivers, and views of it.

Rules. (1) A name is created at once or not at all. (2) An append that a driver dies in may leave a part of its bytes.
(3) A driver that starts may see the newest records damaged, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from seatunnel_py.api.storage import Storage
from seatunnel_py.errors import RetriableError

if TYPE_CHECKING:
    from tests.simulation.process import Process

INCARNATIONS = "incarnations"


class MemoryStorage(Storage):
    """Bytes by name. ``fault`` may raise RetriableError before an operation changes anything; ``owner``: the newest
    incarnation."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self.fault: Callable[[str, str], None] = lambda name, act: None
        self.owner = 0

    def create(self, name: str, data: bytes) -> bool:
        self.fault(name, "create")
        if name in self.held:
            return False
        self.held[name] = data
        folder, _, number = name.partition("/")
        if folder == INCARNATIONS:
            self.owner = max(self.owner, int(number))
        return True

    def append(self, name: str, data: bytes) -> None:
        self.fault(name, "append")
        self.held[name] = self.held.get(name, b"") + data

    def get(self, name: str) -> bytes | None:
        return self.held.get(name)

    def names(self, folder: str) -> Sequence[str]:
        inside = f"{folder}/"
        return sorted(name.removeprefix(inside) for name in self.held if name.startswith(inside))

    def delete(self, name: str) -> None:
        self.fault(name, "delete")
        self.held.pop(name, None)


class JournalStorage(MemoryStorage):
    """The same place as one process sees it: the journal of a driver that was overtaken may be gone."""

    def __init__(self, process: Process) -> None:
        super().__init__()
        self._process = process
        self.held = process.world.storage.held
        self.fault = process.world.storage.fault

    def append(self, name: str, data: bytes) -> None:
        world = self._process.world
        if not world.newest(self._process) and world.faults.strikes("journal is another driver's"):
            raise RetriableError(f"{name} is gone", "it is another driver's")
        if world.faults.strikes("driver dies in an append"):
            self.held[name] = self.held.get(name, b"") + data[: world.choices.outcome.below(len(data))]
            self._process.dies(f"an append to {name}")
        super().append(name, data)


class StaleStorage(MemoryStorage):
    """The same place, in which one file is not as it is, until ``looked_after``: ``instead`` stands there, or None, where
    it cannot be seen."""

    def __init__(self, storage: MemoryStorage, name: str, instead: bytes | None) -> None:
        super().__init__()
        self._storage = storage
        self.held, self.fault = storage.held, storage.fault
        self.hidden, self._instead = name, instead

    def looked_after(self) -> None:
        """From now on it shows all."""
        self.hidden = ""

    def create(self, name: str, data: bytes) -> bool:
        return self._storage.create(name, data)

    def get(self, name: str) -> bytes | None:
        return self._instead if name == self.hidden else super().get(name)

    def names(self, folder: str) -> Sequence[str]:
        found = super().names(folder)
        gone = self._instead is None
        return [name for name in found if not (gone and f"{folder}/{name}" == self.hidden)]

    def delete(self, name: str) -> None:
        if name != self.hidden:
            super().delete(name)


def store_fault(strikes: Callable[[str], bool]) -> Callable[[str, str], None]:
    """A storage that is away now and then, or does not delete."""

    def fault(name: str, act: str) -> None:
        if act == "delete":
            if strikes("delete fails"):
                raise RetriableError(f"{name} cannot be deleted", "wait")
        elif strikes("store is away"):
            raise RetriableError(f"{name} cannot be written", "wait")

    return fault
