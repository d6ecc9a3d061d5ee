"""Where checkpoints lie in a scenario, and how one stored thing there is damaged: under its name, part by part.

Drivers are killed with a directory as their store; database and object store get what lay there, name by name, as their
storages would have written it: the object store is in the memory of this process, which a killed driver cannot leave.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import fsspec

JOB = "j"
Held = dict[tuple[str, int], bytes]
"""By name and part, as in a database; a name that was appended to has several."""


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
    """``location`` is what a job file names; None: under its home."""

    def __init__(self, home: Path) -> None:
        self.location: str | None = str(home / "store")

    def put(self, held: Mapping[tuple[str, int], bytes]) -> None:
        directory = Path(str(self.location)) / JOB
        shutil.rmtree(directory, ignore_errors=True)
        whole: dict[str, bytes] = {}
        for (name, _), data in sorted(held.items()):
            whole[name] = whole.get(name, b"") + data
        for name, data in whole.items():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).write_bytes(data)


class InDatabase:
    """SQLite through SQLAlchemy, as any other database."""

    def __init__(self, home: Path) -> None:
        self._file = home / "store.db"
        self.location = f"sqlite:///{self._file}"

    def put(self, held: Mapping[tuple[str, int], bytes]) -> None:
        self._file.unlink(missing_ok=True)
        with closing(sqlite3.connect(self._file)) as database:
            database.execute(
                "CREATE TABLE seatunnel_checkpoint (job VARCHAR(100) NOT NULL, name VARCHAR(100) NOT NULL, "
                "part INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (job, name, part))"
            )
            rows = [(JOB, name, part, data) for (name, part), data in held.items()]
            database.executemany("INSERT INTO seatunnel_checkpoint VALUES (?, ?, ?, ?)", rows)
            database.commit()


class InObjects:
    """fsspec's file system in memory: no directory, no append, as an object store."""

    def __init__(self, home: Path) -> None:
        self._path = f"/damage-{home.name}"
        self.location = f"memory:/{self._path}"

    def put(self, held: Mapping[tuple[str, int], bytes]) -> None:
        files = fsspec.filesystem("memory")
        for path in [path for path in files.store if path.startswith(self._path)]:
            del files.store[path]
        for (name, part), data in held.items():
            files.pipe_file(f"{self._path}/{JOB}/{name}" + (f"+{part:08}" if part else ""), data)


STORES = {"directory": InDirectory, "database": InDatabase, "objects": InObjects}
