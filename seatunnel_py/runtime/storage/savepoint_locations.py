"""Where savepoints are: beside the checkpoints of their job, in SEATUNNEL_HOME or where all machines see them.

Rules. (1) One that is taken goes where the job's checkpoints are. (2) One that is begun with is looked for there, then
in SEATUNNEL_HOME, and may be named by its manifest's path. (3) What lay in channels is files also beside a database:
they are where ``exchange.location`` says, and on this machine where it says nothing.
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
    """``home``: the directory of this machine; ``location``: of the job's checkpoints, ``exchange`` of its channels,
    where the job file names them."""

    home: Path
    location: str | None = None
    exchange: str | None = None

    @classmethod
    def of(cls, home: Path, env: EnvOptions) -> SavepointLocations:
        return cls(home, env.checkpoint_location, env.exchange_location)

    @contextmanager
    def own(self) -> Iterator[SavepointStore]:
        """Where the job's own are put."""
        with closing(self._own()) as shelf:
            yield shelf

    @contextmanager
    def holding(self, name: str) -> Iterator[tuple[SavepointStore, str]]:
        """The shelf that a savepoint stands on, and its name there. Raises SavepointError, naming those there are."""
        shelf, own_name = self._holding(name)
        with closing(shelf):
            yield shelf, own_name

    def all(self) -> Iterator[SavepointStore]:
        """Where the job's own are put, and this machine's."""
        if self.location is not None:
            with self.own() as shelf:
                yield shelf
        if self.home.is_dir():
            yield _on_this_machine(self.home)

    def read(self, name: str) -> Savepoint:
        """Raises SavepointError where it is not there, or damaged."""
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
    """Takes savepoints of one run; ``about``: what is known of its job."""

    places: SavepointLocations
    lineage: str
    incarnation: int
    about: Mapping[str, Any]

    def kept(self, name: str) -> SavepointSummary | None:
        """None: there is none of that name yet."""
        with self.places.own() as shelf:
            return shelf.kept(name)

    def keep(
        self, name: str, request: str, records: Mapping[str, CheckpointRecord], absent: tuple[str, ...]
    ) -> SavepointSummary:
        """``absent``: pipelines that had not begun. Raises SavepointError."""
        of = (name, request, self.lineage, self.incarnation, time.time(), self.about)
        with self.places.own() as shelf:
            return shelf.write(Savepoint(*of, records, absent))


def _on_this_machine(directory: Path) -> SavepointStore:
    return SavepointStore(LocalStorage(directory), (directory / SEGMENTS).as_uri())
