"""Where the rows of a followed database go, what is there, and how it must not differ."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import psycopg
import pymysql
from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec

from e2e.cdc_sweep.history import difference, told
from e2e.cdc_sweep.sources import COUNT, Rows, Source, all_rows, count_rows
from tests.connectors.kafka.sink_support import records
from tests.connectors.kafka.topics import CALL_SECONDS, admin_of
from tests.servers.kafka import KafkaServer
from tests.servers.mariadb import MariadbServer
from tests.servers.postgres import PostgresServer

ROWS_SHOWN_MAX = 3
QUIET_SECONDS = 2.0  # so long a change log has its size before it is read
NOT_THERE = "it is not there"
NOT_CLOSED = "SELECT pid || ' ' || backend_type || ' ' || left(query, 80) FROM pg_stat_activity"


class Target(Protocol):
    """``server``: its name in the lane."""

    server: str

    def sink(self) -> str:
        """The sink of the job file."""
        ...

    def difference(self, source: Source, table: str) -> str:
        """The first rows that only one side has; empty if there are none."""
        ...

    def rows_written(self, table: str) -> int | None:
        """How many rows it was given; None: it does not keep them all."""
        ...

    def left_behind(self, tables: Sequence[str]) -> list[str]: ...


def _different(wanted: Rows, found: Rows) -> str:
    if odd := set(wanted.names) ^ set(found.names):
        return f"the columns {sorted(odd)} are on one side only"
    sides = wanted.values, found.of(wanted.names)
    if sides[0] == sides[1]:
        return ""
    shown = [set(map(str, rows)) for rows in sides]
    missing, surplus = shown[0] - shown[1], shown[1] - shown[0]
    first = [one[:200] for one in (*sorted(missing)[:ROWS_SHOWN_MAX], *sorted(surplus)[:ROWS_SHOWN_MAX])]
    return f"{len(missing)} missing, {len(surplus)} surplus: {first}"


def _counted(source: Source, table: str, there: int) -> str:
    """The difference of the counts. They are compared first, because a target is looked at again and again until it has
    all rows."""
    wanted = source.count(table)
    return "" if wanted == there else f"{there} rows of {wanted}"


class PostgresTables:
    """Tables of PostgreSQL; ``more``: options of the sink."""

    def __init__(self, server: PostgresServer, name: str, database: str, more: str) -> None:
        self.server, self._at, self._database, self._more = name, server, database, more

    def sink(self) -> str:
        return f"""Jdbc {{ url = "{self._at.jdbc_url(self._database)}", user = postgres, generate_sink_sql = true,
                           database = {self._database}, table = "public.${{table_name}}" {self._more} }}"""

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(self._at.dsn_of(self._database), autocommit=True)

    def difference(self, source: Source, table: str) -> str:
        with self.connect() as db:
            if db.execute("SELECT to_regclass(%s)", [f"public.{table}"]).fetchone() == (None,):
                return NOT_THERE
            return _counted(source, table, count_rows(db, table)) or _different(source.rows(table), all_rows(db, table))

    def rows_written(self, table: str) -> int | None:
        return None

    def left_behind(self, tables: Sequence[str]) -> list[str]:
        queries = {
            "table": "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace "
            "AND relname NOT LIKE 'seatunnel%%' AND NOT relname = ANY(%(tables)s)",
            "prepared transaction": "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()",
            "open transaction": f"{NOT_CLOSED} WHERE xact_start IS NOT NULL AND datname = current_database() "
            "AND pid <> pg_backend_pid()",
        }
        with self.connect() as db:
            return [
                f"{what} {row[0]}"
                for what, query in queries.items()
                for row in db.execute(query.encode(), {"tables": list(tables)})
            ]


class MariadbTables:
    """Tables of MariaDB; ``more``: options of the sink."""

    server = "log"

    def __init__(self, server: MariadbServer, database: str, more: str) -> None:
        self._at, self._database, self._more = server, database, more
        self._ask(f"CREATE DATABASE {database} CHARACTER SET utf8mb4", "test")

    def sink(self) -> str:
        return f"""Jdbc {{ url = "{self._at.jdbc_url(self._database)}", user = root, generate_sink_sql = true,
                           database = {self._database}, table = "${{table_name}}" {self._more} }}"""

    def connect(self) -> Any:
        return pymysql.connect(**self._at.connection(self._database), autocommit=True)

    def _ask(self, query: str, database: str = "") -> Rows:
        about = self._at.connection(database or self._database)
        with closing(pymysql.connect(**about, autocommit=True)) as db, db.cursor() as cursor:
            cursor.execute(query)
            names = tuple(one[0] for one in cursor.description or ())
            return Rows(names, list(cursor.fetchall()))

    def difference(self, source: Source, table: str) -> str:
        if not self._ask(f"SHOW TABLES LIKE '{table}'").values:
            return NOT_THERE
        ((count,),) = self._ask(COUNT.format(f"`{table}`")).values
        found = _counted(source, table, count)
        return found or _different(source.rows(table), self._ask(f"SELECT * FROM `{table}` ORDER BY 1"))

    def rows_written(self, table: str) -> int | None:
        return None

    def left_behind(self, tables: Sequence[str]) -> list[str]:
        names = [str(one) for (one,) in self._ask("SHOW TABLES").values]
        found = [f"table {one}" for one in names if one not in tables and not one.startswith("seatunnel")]
        found += [f"prepared transaction {data}" for *_, data in self._ask("XA RECOVER").values]
        open_query = "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx"
        return found + [f"open transaction {thread}" for (thread,) in self._ask(open_query).values]


class ChangeLog(ABC):
    """Messages in Debezium's format, in order. ``since``: every step that was noted after this one must be there; None:
    the copy may have skipped any."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, float]] = {}
        self._compared: dict[str, tuple[tuple[int, int], str]] = {}
        self._count: dict[str, int] = {}
        self.since: int | None = None

    @abstractmethod
    def size(self, table: str) -> int:
        """A number that grows with the messages."""

    @abstractmethod
    def messages(self, table: str) -> Iterator[bytes | str]: ...

    def difference(self, source: Source, table: str) -> str:
        size, seen = self.size(table), self._seen.get(table)
        if seen is None or seen[0] != size:
            seen = self._seen[table] = size, time.monotonic()
        if time.monotonic() - seen[1] < QUIET_SECONDS:  # it takes long to read all
            return f"it grows: {size}"
        state = size, source.last_noted()
        known = self._compared.get(table)
        if known is None or known[0] != state:
            known = self._compared[table] = state, self._difference(source, table)
        return known[1]

    def _difference(self, source: Source, table: str) -> str:
        found = told(self.messages(table))
        self._count[table] = found.messages
        rows = source.rows(table)
        if len(rows.values) != len(found.rows):
            return f"{len(found.rows)} rows of {len(rows.values)}"
        at = {name: number for number, name in enumerate(rows.names)}
        for row in rows.values:
            last = found.rows.get(row[at["id"]])
            if last is None or any(row[at[name]] != value for name, value in last.items()):
                return f"{str(row)[:200]} arrived as {str(last)[:200]}"
        late = {} if self.since is None else source.history(table, self.since)
        counts = {key: len(steps) for key, steps in late.items()}
        return difference(source.history(table), found, counts, repeats=source.repeats)

    def rows_written(self, table: str) -> int | None:
        return self._count.get(table)


class ChangeFiles(ChangeLog):
    """Files of change logs. A mark in each folder stays for a run that goes on."""

    server = ""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def sink(self) -> str:
        return f'LocalFile {{ path = "{self._folder}/${{table_name}}", file_format_type = debezium_json }}'

    def _files(self, table: str) -> list[Path]:
        """In the order in which they were written: those of a log are written one after the other."""
        return sorted((self._folder / table).glob("*.debezium_json"), key=lambda one: one.stat().st_mtime_ns)

    def size(self, table: str) -> int:
        return sum(one.stat().st_size for one in self._files(table))

    def messages(self, table: str) -> Iterator[bytes | str]:
        for file in self._files(table):
            with file.open() as lines:
                yield from lines

    def left_behind(self, tables: Sequence[str]) -> list[str]:
        there = {file for table in tables for file in self._files(table)}
        marks = {file for table in tables for file in (self._folder / table / ".seatunnel").glob("run-*.json")}
        return [f"file {one}" for one in self._folder.rglob("*") if one.is_file() and one not in there | marks]


class Topics(ChangeLog):
    """Topics of Kafka, each with one partition."""

    server = "kafka"

    def __init__(self, server: KafkaServer, prefix: str, home: Path) -> None:
        super().__init__()
        self._at, self._prefix, self._home = server, prefix, home

    def sink(self) -> str:
        return f"""Kafka {{ topic = "{self._prefix}-${{table_name}}", bootstrap.servers = "{self._at.dsn}",
                            format = debezium_json, semantics = EXACTLY_ONCE, partition_key_fields = [id] }}"""

    def _topic(self, table: str) -> str:
        return f"{self._prefix}-{table}"

    def size(self, table: str) -> int:
        admin, topic = admin_of(self._at.dsn), self._topic(table)
        if topic not in admin.list_topics(timeout=CALL_SECONDS).topics:
            return 0
        (asked,) = admin.list_offsets({TopicPartition(topic, 0): OffsetSpec.latest()}).values()
        return int(asked.result(CALL_SECONDS).offset)

    def messages(self, table: str) -> Iterator[bytes | str]:
        return (one.value for one in records(self._at.dsn, self._topic(table)))

    def left_behind(self, tables: Sequence[str]) -> list[str]:
        return [f"file {one}" for one in (self._home / ".seatunnel").rglob("*.arrow")]
