"""The pairs of a database and a place that values go through."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.round_trips.databases import Database, Postgres
from tests.round_trips.places import Files, Home, Place
from tests.servers.postgres import PostgresServer

FORMATS = ("parquet", "orc", "json", "csv", "text", "xml", "excel")
DATABASES = ("postgres",)


class Pairs:
    """Starts servers when a pair first needs them."""

    def __init__(self, home: Path, stack: ExitStack) -> None:
        self.home = home
        self.stack = stack
        self.made: dict[str, Database] = {}

    def database(self, name: str) -> Database:
        if name not in self.made:
            found = Postgres(self.stack.enter_context(PostgresServer.running()))
            self.stack.callback(found.close)
            self.made[name] = found
        return self.made[name]

    def place(self, database: str, name: str) -> Place:
        """``itself``, ``there`` (itself, into tables of the same types), or a format."""
        if name in ("itself", "there"):
            return Home(self.database(database), with_targets=name == "there")
        return Files(name, self.home / "files")

    @staticmethod
    def names() -> list[str]:
        """Every pair, as ``database:place``."""
        return [f"{database}:{place}" for database in DATABASES for place in ("itself", "there", *FORMATS)]


@contextmanager
def pairs(home: Path) -> Iterator[Pairs]:
    with ExitStack() as stack:
        yield Pairs(home, stack)
