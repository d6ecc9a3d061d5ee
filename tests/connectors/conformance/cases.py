"""Our connectors, and the example plugin, as the conformance kit sees them."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, redirect_stdout, suppress
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pymysql
from seatunnel_example import CountdownFactory, FollowFactory, LinesFactory

from seatunnel_connectors.console.factory import ConsoleSinkFactory
from seatunnel_connectors.fake.factory import FakeSourceFactory
from seatunnel_connectors.files.factory import LocalFileSinkFactory, LocalFileSourceFactory
from seatunnel_connectors.jdbc.factory import JdbcSinkFactory, JdbcSourceFactory
from seatunnel_connectors.kafka.factory import KafkaSinkFactory, KafkaSourceFactory
from seatunnel_py.testing import SinkTarget, SourceTarget
from seatunnel_py.testing.sinks import HOSTILE_NAMES
from tests.connectors.kafka.sink_support import records
from tests.connectors.kafka.support import send
from tests.connectors.kafka.topics import grow, make_topic
from tests.servers.kafka import KafkaServer
from tests.servers.mariadb import MariadbServer
from tests.servers.postgres import PostgresServer

Fresh = Callable[[int], SinkTarget]
_databases = count(1)
LEFT_TABLES = ("seatunnel_ledger", "seatunnel_piece", "conformance")


def once(recipe: str) -> dict[str, Any]:
    """Options of a Jdbc sink that promises exactly-once by this recipe."""
    return {"is_exactly_once": True, "exactly_once_recipe": recipe}


OWN_STATEMENT = {"query": "INSERT INTO conformance VALUES (?, ?, ?, ?)", "is_exactly_once": True}
OWN_TABLE = "CREATE TABLE IF NOT EXISTS conformance (id bigint, unit varchar(9), seq int, text text)"
"""A Jdbc sink whose rows a statement of people's own puts into a table of their own."""


def files(folder: Path, kind: str, **options: Any) -> Fresh:
    """LocalFile in a format whose rows can be read without us."""

    def fresh(number: int) -> SinkTarget:
        place = folder / f"{kind}{number}"

        def rows() -> list[tuple[Any, ...]]:
            found = [path for path in place.rglob(f"*.{kind}") if ".seatunnel" not in path.parts]
            return [row for path in found for row in _file_rows(path, kind)]

        def left() -> list[str]:
            hidden = (path for path in place.rglob("*") if ".seatunnel" in path.parts and path.is_file())
            return [path.name for path in hidden if not path.name.startswith("composed-")]

        given = {"path": str(place), "file_format_type": kind, **options}
        return SinkTarget(LocalFileSinkFactory(), given, rows, left)

    return fresh


def _file_rows(path: Path, kind: str) -> Iterator[tuple[Any, ...]]:
    if kind == "json":
        for line in path.read_text().splitlines():
            loaded = list(json.loads(line).values())
            yield tuple(loaded) if len(loaded) == 4 else (*loaded, None)  # a null is left out
        return
    import pyarrow.parquet as pq

    for row in pq.read_table(path).to_pylist():
        yield tuple(row.values())


def lines(folder: Path) -> Fresh:
    """The example plugin's sink: text, so rows are compared by what identifies them."""

    def fresh(number: int) -> SinkTarget:
        place = folder / f"lines{number}"
        left = lambda: [path.name for path in place.glob("*.tmp")]  # noqa: E731
        return SinkTarget(LinesFactory(), {"directory": str(place)}, lambda: _lines(place), left)

    return fresh


def _lines(place: Path) -> list[tuple[Any, ...]]:
    """Texts with line ends make several lines of a row: they are put together again."""
    from seatunnel_py.testing.life import all_rows

    known = {",".join(map(str, row)): row for row in all_rows()}
    text = "".join(path.read_text() for path in sorted(place.glob("*.txt")))
    found: list[tuple[Any, ...]] = []
    line = ""
    for part in text.split("\n")[:-1]:
        line = f"{line}\n{part}" if line else part
        if line in known:
            found.append(known[line])
            line = ""
    return [*found, *([(line,)] if line else [])]


def sqlite(folder: Path, **options: Any) -> Fresh:
    def fresh(number: int) -> SinkTarget:
        path = folder / f"sqlite{number}.db"

        def ask(query: str) -> list[tuple[Any, ...]]:
            with closing(sqlite3.connect(path)) as connection, suppress(sqlite3.OperationalError):
                return connection.execute(query).fetchall()
            return []

        if "query" in options:
            ask(OWN_TABLE)
        given = {"url": f"jdbc:sqlite:{path}", "driver": "org.sqlite.JDBC", "database": "main", **_table(options)}
        return _database(given, ask)

    return fresh


def generic(folder: Path) -> Fresh:
    """A database that is spoken to through SQLAlchemy."""

    def fresh(number: int) -> SinkTarget:
        path = folder / f"generic{number}.db"

        def ask(query: str) -> list[tuple[Any, ...]]:
            with closing(sqlite3.connect(path)) as connection, suppress(sqlite3.OperationalError):
                return connection.execute(query).fetchall()
            return []

        return _database({"url": f"sqlite:///{path}", "dialect": "sqlalchemy", "database": "main", **_table({})}, ask)

    return fresh


@contextmanager
def console(folder: Path) -> Iterator[Fresh]:
    """What this process and those that it forks print goes into a file meanwhile."""
    from seatunnel_py.testing.life import all_rows

    text_of = {", ".join("null" if value is None else str(value) for value in row): row for row in all_rows()}
    printed = folder / "printed"
    kept = os.dup(1)
    handle = os.open(printed, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    sys.stdout.flush()
    os.dup2(handle, 1)

    def fresh(number: int) -> SinkTarget:
        os.truncate(printed, 0)

        def rows() -> list[tuple[Any, ...]]:
            found = re.findall(
                r"kind=INSERT : (.*?)(?=\n(?:subtaskIndex=|output rowType)|\n\Z)", printed.read_text(), re.S
            )
            return [text_of.get(text, (text,)) for text in found]

        return SinkTarget(ConsoleSinkFactory(), {}, rows)

    try:
        with os.fdopen(os.dup(1), "w") as stdout, redirect_stdout(stdout):
            yield fresh
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(handle)


def kafka(server: KafkaServer, semantics: str) -> Fresh:
    def fresh(number: int) -> SinkTarget:
        topic = f"{semantics.lower()}-{number}"
        ledger = f"{topic}-ledger"
        told = {"topic": topic, "bootstrap.servers": server.dsn, "semantics": semantics, "ledger.topic": ledger}
        rows = lambda: [tuple(record.document.values()) for record in records(server.dsn, topic)]  # noqa: E731
        return SinkTarget(KafkaSinkFactory(), told, rows)

    return fresh


def postgres(server: PostgresServer, **options: Any) -> Fresh:
    name = f"conformance{next(_databases)}"
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())

    def ask(query: str) -> list[tuple[Any, ...]]:
        dsn = server.dsn_of(name)
        with suppress(psycopg.errors.UndefinedTable), psycopg.connect(dsn, autocommit=True) as connection:
            cursor = connection.execute(query.encode())
            return cursor.fetchall() if cursor.description else []
        return []

    def fresh(_: int) -> SinkTarget:
        ask(f"DROP SCHEMA public CASCADE; CREATE SCHEMA public; {OWN_TABLE if 'query' in options else ''}")
        given = {"url": server.jdbc_url(name), "driver": "org.postgresql.Driver", "username": "postgres"}
        tables = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        return _database({**given, "database": name, **_table(options, "public.")}, ask, tables)

    return fresh


def mariadb(server: MariadbServer, **options: Any) -> Fresh:
    name = f"conformance{next(_databases)}"

    def ask(query: str, database: str = name) -> list[tuple[Any, ...]]:
        given = {**server.connection(database), "autocommit": True}
        with suppress(pymysql.err.ProgrammingError), closing(pymysql.connect(**given)) as connection:
            cursor = connection.cursor()
            cursor.execute(query)
            return list(cursor.fetchall())
        return []

    def fresh(_: int) -> SinkTarget:
        ask(f"DROP DATABASE IF EXISTS {name}", "")
        ask(f"CREATE DATABASE {name}", "")
        if "query" in options:
            ask(OWN_TABLE)
        given = {"url": server.jdbc_url(name), "driver": "com.mysql.cj.jdbc.Driver", "username": "root"}
        return _database({**given, "password": "", "database": name, **_table(options)}, ask, "SHOW TABLES")

    return fresh


def _table(options: Mapping[str, Any], schema: str = "") -> dict[str, Any]:
    if "query" in options:
        return dict(options)
    return {"table": f"{schema}conformance", "generate_sink_sql": True, **options}


def _database(given: dict[str, Any], ask: Callable[[str], list[tuple[Any, ...]]], tables: str = "") -> SinkTarget:
    def left() -> Sequence[str]:
        pieces = [f"the piece row {row[0]}" for row in ask("SELECT data_id FROM seatunnel_piece")]
        found = [f"the table {row[0]}" for row in ask(tables) if row[0] not in LEFT_TABLES] if tables else []
        return [*pieces, *found]

    key = "primary_keys" in given
    names = ("id", "unit", "seq", "text") if "query" in given else HOSTILE_NAMES
    return SinkTarget(JdbcSinkFactory(), given, lambda: ask("SELECT * FROM conformance"), left, key, names)


def streams(folder: Path, server: KafkaServer) -> dict[str, SourceTarget]:
    """Unbounded sources, with a few rows, and more of them when they are asked for."""
    lines: list[tuple[str]] = []

    def write(name: str, first: int, count: int) -> None:
        text = [f"line {number}" for number in range(first, first + count)]
        with (folder / name).open("a") as file:
            file.writelines(f"{line}\n" for line in text)
        lines.extend((line,) for line in text)

    sent: list[tuple[int, str]] = []

    def produce(first: int, count: int, partition: int) -> None:
        found = [(number, f"text {number}") for number in range(first, first + count)]
        documents = [json.dumps({"id": number, "text": text}).encode() for number, text in found]
        send(server, "conformance-stream", documents, partition)
        sent.extend(found)

    def more() -> None:
        produce(100, 5, 0)
        grow(server, "conformance-stream", 3)
        produce(200, 5, 2)

    write("a.log", 0, 30)
    write("b.log", 100, 3)
    make_topic(server, "conformance-stream", 2)
    produce(0, 20, 0)
    produce(50, 10, 1)
    kafka = {
        "topic": "conformance-stream",
        "bootstrap.servers": server.dsn,
        "start_mode": "earliest",
        "partition-discovery.interval-millis": 1000,
        "format": "json",
        "schema": {"fields": {"id": "bigint", "text": "string"}},
    }
    return {
        "Kafka, a stream": SourceTarget(
            KafkaSourceFactory(), kafka, lambda: list(sent), more, streaming=True, quiet=1.0
        ),
        "Follow (example)": SourceTarget(
            FollowFactory(),
            {"directory": str(folder)},
            lambda: list(lines),
            lambda: (write("a.log", 200, 4), write("later.log", 300, 4))[0],
        ),
    }


def sources(folder: Path, server: PostgresServer, mariadb: MariadbServer) -> dict[str, SourceTarget]:
    """Bounded sources, each with a few hundred rows."""
    rows = [(number, f"text {number}") for number in range(300)]
    inputs = folder / "inputs"
    inputs.mkdir()
    for part in range(3):
        text = "".join(f"{number},{text}\n" for number, text in rows[part::3])
        (inputs / f"{part}.csv").write_text(text)
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("CREATE DATABASE conformance")
    with psycopg.connect(server.dsn_of("conformance"), autocommit=True) as connection:
        connection.execute("CREATE TABLE numbers (id bigint PRIMARY KEY, text text)")
        connection.cursor().executemany("INSERT INTO numbers VALUES (%s, %s)", rows)
        connection.execute("ANALYZE")
    with (
        closing(pymysql.connect(**{**mariadb.connection(""), "autocommit": True})) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("CREATE DATABASE numbers_of_maria")
        cursor.execute("CREATE TABLE numbers_of_maria.numbers (id bigint PRIMARY KEY, text text)")
        cursor.executemany("INSERT INTO numbers_of_maria.numbers VALUES (%s, %s)", rows)
    on_mariadb = {"url": mariadb.jdbc_url("numbers_of_maria"), "driver": "com.mysql.cj.jdbc.Driver", "username": "root"}
    database = folder / "source.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE numbers (id integer PRIMARY KEY, text text)")
        connection.executemany("INSERT INTO numbers VALUES (?, ?)", rows)
        connection.commit()
    fields = {"fields": {"id": "bigint", "text": "string"}}
    jdbc: dict[str, Any] = {"partition_num": 3}
    on_postgres = {"url": server.jdbc_url("conformance"), "driver": "org.postgresql.Driver", "username": "postgres"}
    return {
        "LocalFile, csv": SourceTarget(
            LocalFileSourceFactory(),
            {"path": str(inputs), "file_format_type": "csv", "schema": fields},
            lambda: rows,
        ),
        "Jdbc, PostgreSQL": SourceTarget(
            JdbcSourceFactory(),
            {**jdbc, **on_postgres, "table_path": "conformance.public.numbers"},
            lambda: rows,
        ),
        "Jdbc, MariaDB": SourceTarget(
            JdbcSourceFactory(),
            {**jdbc, **on_mariadb, "table_path": "numbers_of_maria.numbers"},
            lambda: rows,
        ),
        "Jdbc, SQLite": SourceTarget(
            JdbcSourceFactory(),
            {**jdbc, "url": f"jdbc:sqlite:{database}", "driver": "org.sqlite.JDBC", "table_path": "numbers"},
            lambda: rows,
        ),
        "FakeSource": SourceTarget(FakeSourceFactory(), {"row.num": 300, "split.num": 3, "schema": fields}),
        "Countdown (example)": SourceTarget(
            CountdownFactory(), {"start": 250}, lambda: [(number,) for number in range(250, 0, -1)]
        ),
    }
