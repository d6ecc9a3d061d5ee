"""Where checkpoints lie in a scenario. What lies there is held by name and part, as storages with parts would have it.

Drivers are killed with a directory as their store; databases and object store get what lay there, name by name, as their
storages would have written it: the object store is in the memory of this process, which a killed driver cannot leave.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import fsspec
import sqlalchemy as sa

from e2e.crash_sweep.place import Place
from seatunnel_plugins.storages.database import TABLE

JOB = "j"
Held = dict[tuple[str, int], bytes]
"""By name and part, as in a database; a name that was appended to has several."""


class Store(Protocol):
    @property
    def location(self) -> str:
        """What the job file names."""

    def put(self, held: Mapping[tuple[str, int], bytes]) -> None:
        """This, and nothing else, lies there for the job."""


def held_in(directory: Path) -> Held:
    """What a directory holds, as storages with parts would have it: each append is one."""
    found: Held = {}
    for file in sorted(path for path in directory.rglob("*") if path.is_file() and not path.name.startswith(".")):
        name, data = str(file.relative_to(directory)), file.read_bytes()
        for number, part in enumerate(_parts(data) if name.startswith("journal/") else [data]):
            found[name, number] = part
    return found


def _parts(data: bytes) -> list[bytes]:
    """A journal is begun in one go."""
    begun, mark, rest = data.partition(b'{"complete":true}\n')
    return [begun + mark, *rest.splitlines(keepends=True)]


class InDirectory:
    def __init__(self, place: Place) -> None:
        self._path = place.home / "store"
        self.location = str(self._path)

    def put(self, held: Mapping[tuple[str, int], bytes]) -> None:
        directory = self._path / JOB
        shutil.rmtree(directory, ignore_errors=True)
        whole: dict[str, bytes] = {}
        for (name, _), data in sorted(held.items()):
            whole[name] = whole.get(name, b"") + data
        for name, data in whole.items():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).write_bytes(data)


class InDatabase:
    """``location`` is written as users do; ``address`` with SQLAlchemy's name of the driver."""

    def __init__(self, location: str, address: str) -> None:
        self.location = location
        self._engine = sa.create_engine(address, poolclass=sa.NullPool)

    @classmethod
    def sqlite(cls, place: Place) -> InDatabase:
        location = f"sqlite:///{place.home}/store.db"
        return cls(location, location)

    @classmethod
    def postgres(cls, place: Place) -> InDatabase:
        location = place.postgres.dsn_of("postgres")
        return cls(location, location.replace("postgresql://", "postgresql+psycopg://"))

    @classmethod
    def mariadb(cls, place: Place) -> InDatabase:
        location = place.mariadb.dsn
        return cls(location, location.replace("mysql://", "mysql+pymysql://"))

    def put(self, held: Mapping[tuple[str, int], bytes]) -> None:
        with self._engine.begin() as connection:
            TABLE.create(connection, checkfirst=True)
            connection.execute(TABLE.delete())
            if held:
                rows = [{"job": JOB, "name": name, "part": part, "data": data} for (name, part), data in held.items()]
                connection.execute(TABLE.insert(), rows)


class InObjects:
    """fsspec's file system in memory: no directory, no append, as an object store."""

    def __init__(self, place: Place) -> None:
        self._path = f"/damage-{place.home.name}"
        self.location = f"memory:/{self._path}"

    def put(self, held: Mapping[tuple[str, int], bytes]) -> None:
        files = fsspec.filesystem("memory")
        for path in [path for path in files.store if path.startswith(self._path)]:
            del files.store[path]
        for (name, part), data in held.items():
            files.pipe_file(f"{self._path}/{JOB}/{name}" + (f"+{part:08}" if part else ""), data)


STORES: Mapping[str, Callable[[Place], Store]] = {
    "directory": InDirectory,
    "SQLite": InDatabase.sqlite,
    "objects": InObjects,
    "PostgreSQL": InDatabase.postgres,
    "MariaDB": InDatabase.mariadb,
}
