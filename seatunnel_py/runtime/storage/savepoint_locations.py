"""Locations of savepoints: beside the checkpoints of their job, in SEATUNNEL_HOME or in shared storage.

Rules. (1) A new savepoint is stored beside the job's checkpoints. (2) A savepoint to start with is searched for there,
then in SEATUNNEL_HOME, and may be given by the path of its manifest. (3) Segments of channels are always files: in
``exchange.location``, or on this machine without that option.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatunnel_py.runtime.storage.local_storage import LocalStorage
from seatunnel_py.runtime.storage.open_storage import SAVEPOINTS, connect
from seatunnel_py.runtime.storage.savepoint_store import (
    MANIFESTS,
    Savepoint,
    SavepointStore,
    SavepointSummary,
    is_name,
    not_found_error,
)

if TYPE_CHECKING:
    from seatunnel_py.config.env import EnvOptions
    from seatunnel_py.protocol.model.records import CheckpointRecord

SEGMENTS = "segments"


@dataclass(frozen=True, slots=True)
class SavepointLocations:
    """``home``: the directory of this machine; ``location`` and ``exchange``: ``checkpoint.location`` and
    ``exchange.location`` of the job file, if given."""

    home: Path
    location: str | None = None
    exchange: str | None = None

    @classmethod
    def of(cls, home: Path, env: EnvOptions) -> SavepointLocations:
        return cls(home, env.checkpoint_location, env.exchange_location)

    @contextmanager
    def own(self) -> Iterator[SavepointStore]:
        """The store of the job's own savepoints."""
        with closing(self._own()) as shelf:
            yield shelf

    @contextmanager
    def holding(self, name: str) -> Iterator[tuple[SavepointStore, str]]:
        """The store of a savepoint, and its name there. Raises SavepointError with the existing names."""
        shelf, own_name = self._holding(name)
        with closing(shelf):
            yield shelf, own_name

    def all(self) -> Iterator[SavepointStore]:
        """The stores of the job's own savepoints and of this machine's."""
        if self.location is not None:
            with self.own() as shelf:
                yield shelf
        if self.home.is_dir():
            yield _on_this_machine(self.home)

    def read(self, name: str) -> Savepoint:
        """Read a savepoint. Raises SavepointError if it is missing or damaged."""
        with self.holding(name) as (shelf, own_name):
            return shelf.read(own_name)

    def _own(self) -> SavepointStore:
        if self.location is None:
            return _on_this_machine(self.home)
        shared = f"{self.exchange.rstrip('/')}/{SAVEPOINTS}" if self.exchange else None
        return SavepointStore(connect(self.location, SAVEPOINTS), shared or (self.home / SEGMENTS).as_uri())

    def _holding(self, name: str) -> tuple[SavepointStore, str]:
        known: list[str] = []
        looked_in = [str(self.home / MANIFESTS)]
        if self.location is not None:
            shelf = self._own()
            if is_name(name) and shelf.has(name):
                return shelf, name
            known += shelf.names()
            looked_in.insert(0, shelf.place)
            shelf.close()
        for path in (self.home / MANIFESTS / name, Path(name).absolute()):
            if path.is_file() and path.parent.name == MANIFESTS:
                return _on_this_machine(path.parents[1]), path.name
        known += sorted(path.name for path in (self.home / MANIFESTS).glob("[!.]*"))
        raise not_found_error(name, known, looked_in)


@dataclass(frozen=True, slots=True)
class SavepointKeeper:
    """Takes savepoints of one run; ``about``: facts about its job."""

    places: SavepointLocations
    lineage: str
    incarnation: int
    about: Mapping[str, Any]

    def kept(self, name: str) -> SavepointSummary | None:
        """Summary of this savepoint; None: it does not exist."""
        with self.places.own() as shelf:
            return shelf.kept(name)

    def keep(
        self, name: str, request: str, records: Mapping[str, CheckpointRecord], absent: tuple[str, ...]
    ) -> SavepointSummary:
        """Store a savepoint; ``absent``: pipelines that had not started. Raises SavepointError."""
        of = (name, request, self.lineage, self.incarnation, time.time(), self.about)
        with self.places.own() as shelf:
            return shelf.write(Savepoint(*of, records, absent))


def _on_this_machine(directory: Path) -> SavepointStore:
    return SavepointStore(LocalStorage(directory), (directory / SEGMENTS).as_uri())
