"""The pairs of a database and a place that values go through."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.round_trips.databases import Database, Postgres
from tests.round_trips.messages import Messages
from tests.round_trips.other_databases import Mariadb, Sqlite
from tests.round_trips.places import Files, Home, Other, Place, Topics
from tests.servers.kafka import KafkaServer
from tests.servers.mariadb import ROW_LOG, MariadbServer
from tests.servers.postgres import PostgresServer

_XML = 'xml_row_tag = "row", xml_use_attr_format = '
FORMATS = {
    "parquet": ("parquet", ""),
    "orc": ("orc", ""),
    "json": ("json", ""),
    "csv": ("csv", ""),
    "csv-null": ("csv", 'null_format = "\\\\N"'),
    "text": ("text", ""),
    "text-null": ("text", 'null_format = "\\\\N"'),
    "xml": ("xml", f"{_XML}false"),
    "xml-attributes": ("xml", f"{_XML}true"),
    "excel": ("excel", ""),
}
"""Formats of files by name: the format and its options."""

MESSAGES = {f"kafka-{name}": name for name in ("json", "avro", "protobuf", "csv", "text")}
"""Formats of Kafka's messages by name."""

FOLLOWED_PAIRS = (
    "postgres:itself",
    "postgres:there",
    "postgres:mariadb",
    "mariadb:itself",
    "mariadb:there",
    "mariadb:postgres",
)
DATABASES = ("postgres", "mariadb", "sqlite")


class Pairs:
    """Starts servers when a pair first needs them."""

    def __init__(self, home: Path, stack: ExitStack, *, logged: bool = False) -> None:
        self.home, self._logged = home, logged
        self.stack = stack
        self.made: dict[str, Database] = {}
        self.kafka: KafkaServer | None = None

    def database(self, name: str) -> Database:
        if name not in self.made:
            self.made[name] = self._start(name)
            self.stack.callback(self.made[name].close)
        return self.made[name]

    def _start(self, name: str) -> Database:
        match name:
            case "postgres":
                settings = {"wal_level": "logical"} if self._logged else {}
                return Postgres(self.stack.enter_context(PostgresServer.running(settings=settings)))
            case "mariadb":
                settings = {"local_infile": "ON"} | (ROW_LOG if self._logged else {})
                return Mariadb(self.stack.enter_context(MariadbServer.running(settings=settings)))
            case _:
                return Sqlite(self.home)

    def place(self, database: str, name: str) -> Place:
        """``itself``, ``there`` (itself, into tables of the same types), another database, or a format."""
        if name in ("itself", "there"):
            return Home(self.database(database), with_targets=name == "there")
        if name in MESSAGES:
            kind = Messages if name == "kafka-protobuf" else Topics
            return kind(MESSAGES[name], self._broker())
        return Other(self.database(name)) if name in DATABASES else Files(*FORMATS[name], self.home / "files")

    def _broker(self) -> str:
        if self.kafka is None:
            self.kafka = self.stack.enter_context(KafkaServer.running())
        return self.kafka.dsn

    @staticmethod
    def names() -> list[str]:
        """Every pair, as ``database:place``."""
        places = ("itself", "there", *DATABASES, *FORMATS, *MESSAGES)
        return [f"{database}:{place}" for database in DATABASES for place in places if place != database]


@contextmanager
def pairs(home: Path, *, logged: bool = False) -> Iterator[Pairs]:
    """Pairs of servers; ``logged``: their databases write logs that can be followed."""
    with ExitStack() as stack:
        yield Pairs(home, stack, logged=logged)
