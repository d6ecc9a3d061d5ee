"""The store and the journal of a driver, which tell the checkers what is durable."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.storage import Storage
from seatunnel_py.errors import RetriableError
from seatunnel_py.protocol.commit.claims import Claim
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore, FencedOffError
from seatunnel_py.runtime.storage.journal import JournalFile
from tests.simulation.jobs.targets import Answer

if TYPE_CHECKING:
    from tests.simulation.world import World


class WatchedStore(CheckpointStore):
    """Tells of records that it has written, or refused to write."""

    def __init__(self, storage: Storage, world: World, claimed: Callable[[Collection[str]], None]) -> None:
        super().__init__(storage)
        self._world = world
        self._claimed = claimed

    def claim(self, incarnation: int, claims: Mapping[str, Claim]) -> None:
        super().claim(incarnation, claims)
        self._claimed(claims.keys())  # it is durable, whatever the driver meets next

    def write(self, incarnation: int, records: Mapping[str, CheckpointRecord]) -> Mapping[str, int]:
        answer = Answer.FENCED
        try:
            sizes = super().write(incarnation, records)
            answer = Answer.DONE
        except FencedOffError:
            self._tell(records, answer)
            raise
        self._world.files[f"records/{incarnation:08}-{self._writes:08}"] = [
            (self._world.line(key), record.checkpoint) for key, record in records.items()
        ]
        self._tell(records, answer)
        if self._world.faults.strikes("answer of the store is lost"):
            raise RetriableError("the connection to the store is gone", "wait")
        return sizes

    def _tell(self, records: Mapping[str, CheckpointRecord], answer: Answer) -> None:
        for key, record in records.items():
            self._world.line(key).stored(record, answer)


class WatchedJournal(JournalFile):
    """Tells of lines that it has written."""

    def __init__(self, storage: Storage, incarnation: int, world: World) -> None:
        self._world = world
        super().__init__(storage, incarnation)

    def append(self, lines: Iterable[Mapping[str, Any]]) -> None:
        written = list(lines)
        super().append(written)
        for line in written:
            if line["p"]:  # else it is of all pipelines
                self._world.line(line["p"]).written(line, self._incarnation)
