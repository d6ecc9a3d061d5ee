"""Databases whose logs jobs follow: how their rows change, and what they hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol

import psycopg
import pymysql
from pymysql.constants import ER

from e2e.cdc import test_mariadb_cdc, test_postgres_cdc
from e2e.cdc.mariadb_workload import MariadbWorkload
from e2e.cdc.workload import WHOLE, Workload
from e2e.cdc_sweep.history import NOTED, Step, mariadb_notes, noted, postgres_notes
from tests.servers.mariadb import MariadbServer
from tests.servers.postgres import PostgresServer

FOLLOWS = ", schema-changes.enabled = true, snapshot.split.size = 100"
COUNT = "SELECT count(*) FROM {}"


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a table in the order of its key. Tuples: a table has a million rows after a large transaction."""

    names: tuple[str, ...]
    values: Sequence[tuple[Any, ...]]

    def of(self, names: tuple[str, ...]) -> Sequence[tuple[Any, ...]]:
        """The values in this order of the columns, which are the same ones."""
        if names == self.names:
            return self.values
        return list(map(itemgetter(*map(self.names.index, names)), self.values))


class Source(Protocol):
    """``server``: its name in the lane. ``repeats``: changes made during the copy come from the log as well."""

    server: str
    repeats: bool
    tables: tuple[str, ...]

    def head(self, env: str, tables: Sequence[str]) -> str:
        """The job file up to its sink."""
        ...

    def connect(self) -> Any:
        """A connection that commits each statement."""
        ...

    def run(self, statement: str) -> None: ...

    def count(self, table: str) -> int: ...

    def rows(self, table: str) -> Rows: ...

    def note_history(self) -> None:
        """Note every step of every key from now on, and let the log hold whole rows."""
        ...

    def last_noted(self) -> int:
        """The newest step."""
        ...

    def history(self, table: str, since: int = 0) -> Mapping[int, Sequence[Step]]: ...

    def workload(self, seed: int) -> AbstractContextManager[object]: ...

    def end_sender(self) -> None: ...

    def left_behind(self) -> list[str]: ...


_STEPS = f"SELECT sign, id, source, seq, note FROM {NOTED} WHERE name = '{{table}}' AND at > {{since}} ORDER BY at"
_LAST = f"SELECT max(at) FROM {NOTED}"


def count_rows(db: psycopg.Connection, table: str) -> int:
    """How many rows a table of PostgreSQL has."""
    return int(db.execute(COUNT.format(table).encode()).fetchall()[0][0])


def all_rows(db: psycopg.Connection, table: str) -> Rows:
    """The rows of a table of PostgreSQL."""
    found = db.execute(f"SELECT * FROM {table} ORDER BY 1".encode())
    return Rows(tuple(one.name for one in found.description or ()), found.fetchall())


class PostgresSource:
    """Three tables of PostgreSQL."""

    server = "source"
    repeats = False
    tables = test_postgres_cdc.TABLES

    def __init__(self, home: Path, server: PostgresServer, number: int) -> None:
        self.followed = test_postgres_cdc.Followed(home, server, number)
        self._whole: tuple[str, ...] = (WHOLE,)

    def head(self, env: str, tables: Sequence[str]) -> str:
        self.followed.write(env=env, source=FOLLOWS, tables=tables)
        return (self.followed.home / "job.conf").read_text().partition("sink {")[0]

    def connect(self) -> psycopg.Connection:
        return self.followed.pair.connect(self.followed.pair.source)

    def run(self, statement: str) -> None:
        self.followed.execute(self.followed.pair.source, statement)

    def count(self, table: str) -> int:
        with self.connect() as db:
            return count_rows(db, table)

    def rows(self, table: str) -> Rows:
        with self.connect() as db:
            return all_rows(db, table)

    def note_history(self) -> None:
        self._whole = self.tables
        whole = (f"ALTER TABLE {table} REPLICA IDENTITY FULL" for table in self.tables)
        self.followed.execute(self.followed.pair.source, *whole, *postgres_notes(self.tables))

    def last_noted(self) -> int:
        with self.connect() as db:
            return int(db.execute(_LAST.encode()).fetchall()[0][0])

    def history(self, table: str, since: int = 0) -> Mapping[int, Sequence[Step]]:
        with self.connect() as db:
            return noted(db.execute(_STEPS.format(table=table, since=since).encode()).fetchall())

    def workload(self, seed: int) -> AbstractContextManager[object]:
        return Workload(self.followed.source_dsn, self.tables, seed, whole=self._whole)

    def end_sender(self) -> None:
        self.run(
            "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots "
            "WHERE database = current_database() AND active_pid IS NOT NULL AND NOT temporary"
        )

    def left_behind(self) -> list[str]:
        """Once the job is stopped with a savepoint: its slot and its publication stay, for it may go on."""
        with self.connect() as db:
            slots = db.execute("SELECT slot_name, active FROM pg_replication_slots WHERE database = current_database()")
            found = [f"slot {name}" for number, (name, active) in enumerate(slots) if number or active]
            names = db.execute("SELECT pubname FROM pg_publication").fetchall()
        return found + [f"publication {name}" for (name,) in names[1:]]


class MariadbSource:
    """Three tables of MariaDB. ``target``: a server where a database is made for them."""

    server = "log"
    repeats = True
    tables = test_mariadb_cdc.TABLES

    def __init__(self, home: Path, server: MariadbServer, target: PostgresServer) -> None:
        self.followed = test_mariadb_cdc.FollowedLog(home, server, target)

    def head(self, env: str, tables: Sequence[str]) -> str:
        self.followed.write(FOLLOWS, tables=tables)
        head = (self.followed.home / "job.conf").read_text().partition("sink {")[0]
        return head.replace("checkpoint.interval = 300", f"checkpoint.interval = 300 {env}")

    def connect(self) -> Any:
        return pymysql.connect(**self.followed.connection(), autocommit=True)

    def run(self, statement: str) -> None:
        self.followed.run_there(statement)

    def count(self, table: str) -> int:
        return int(self.followed.run_there(COUNT.format(f"`{table}`"))[0][0])

    def rows(self, table: str) -> Rows:
        names = tuple(row[0] for row in self.followed.run_there(f"SHOW COLUMNS FROM {table}"))
        return Rows(names, self.followed.run_there(f"SELECT * FROM {table} ORDER BY 1"))

    def note_history(self) -> None:
        self.followed.run_there(*mariadb_notes(self.tables))

    def last_noted(self) -> int:
        return int(self.followed.run_there(_LAST)[0][0])

    def history(self, table: str, since: int = 0) -> Mapping[int, Sequence[Step]]:
        return noted(self.followed.run_there(_STEPS.format(table=table, since=since)))

    def workload(self, seed: int) -> AbstractContextManager[object]:
        return MariadbWorkload(self.followed.connection(), self.tables, seed)

    def _senders(self) -> Iterator[int]:
        for row in self.followed.run_there("SHOW PROCESSLIST"):
            if row[4] == "Binlog Dump":
                yield row[0]

    def end_sender(self) -> None:
        for sender in self._senders():
            try:
                self.followed.run_there(f"KILL {sender}")
            except pymysql.err.OperationalError as error:
                if error.args[0] != ER.NO_SUCH_THREAD:  # it has ended meanwhile
                    raise

    def left_behind(self) -> list[str]:
        return [f"sender {one}" for one in self._senders()]
