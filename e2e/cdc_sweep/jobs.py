"""Jobs that copy and follow three tables, by recipe: how they are written, changed, compared, and looked at afterwards."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import psycopg
import pymysql
from pymysql.constants import ER

from e2e.cdc import test_mariadb_cdc, test_postgres_cdc
from e2e.cdc.mariadb_workload import MariadbWorkload
from e2e.cdc.workload import Workload
from e2e.support import write_job
from tests.servers.mariadb import MariadbServer
from tests.servers.postgres import PostgresServer
from tests.servers.private import PrivateServer

FOLLOWS = ", schema-changes.enabled = true, snapshot.split.size = 100"
ENV = ", job.retry.times = 60, job.retry.interval.seconds = 1"
ONCE = ", is_exactly_once = true"
MAKERS: dict[str, Callable[[], PrivateServer]] = {
    "source": lambda: PostgresServer(settings=test_postgres_cdc.SETTINGS),
    "log": lambda: MariadbServer(settings=test_mariadb_cdc.SETTINGS),
    "target": PostgresServer,
}
NOT_CLOSED = "SELECT pid || ' ' || backend_type || ' ' || left(query, 80) FROM pg_stat_activity"


class FollowingJob(Protocol):
    """A job in ``home``. ``source`` and ``target`` name its servers."""

    home: Path
    source: str
    target: str
    tables: tuple[str, ...]

    def change(self, statement: str) -> None: ...

    def workload(self, seed: int) -> contextlib.AbstractContextManager[object]: ...

    def end_sender(self) -> None: ...

    def difference(self, table: str) -> str:
        """The first rows that only one side has; empty if there are none."""
        ...

    def left_behind(self) -> list[str]: ...


class PostgresJob:
    """From PostgreSQL to tables of the same server, or to files."""

    source = target = "source"
    tables = test_postgres_cdc.TABLES

    def __init__(self, home: Path, recipe: str, number: int, server: Callable[[str], PrivateServer]) -> None:
        found = server("source")
        assert isinstance(found, PostgresServer)
        self.home, self._recipe = home, recipe
        self._followed = test_postgres_cdc.Followed(home, found, number)
        self._files = home / "files" if "files" in recipe else None
        self._followed.write(ONCE if "two-phase" in recipe else "", ENV, FOLLOWS)
        if self._files is not None:
            head, _ = (home / "job.conf").read_text().split("sink {")
            sink = f'LocalFile {{ path = "{self._files}/${{table_name}}", file_format_type = csv }}'
            head = head.replace(ENV, f'{ENV}, guarantee = "exactly-once"')
            write_job(home, f"{head} sink {{ {sink} }}")

    def _connect(self, database: str = "") -> psycopg.Connection:
        return self._followed.pair.connect(database or self._followed.pair.source)

    def change(self, statement: str) -> None:
        with self._connect() as db:
            db.execute(statement.encode())

    def workload(self, seed: int) -> contextlib.AbstractContextManager[object]:
        return Workload(self._followed.source_dsn, self.tables, seed, only_inserts=self._files is not None)

    def end_sender(self) -> None:
        self.change(
            "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots "
            "WHERE database = current_database() AND active_pid IS NOT NULL AND NOT temporary"
        )

    def difference(self, table: str) -> str:
        if self._files is None:
            return "" if self._followed.equal(table) else self._followed.difference(table) or "it is not there"
        lines = sorted(one for file in (self._files / table).glob("*.csv") for one in file.read_text().splitlines())
        pair = self._followed.pair
        rows = [",".join("" if one is None else str(one) for one in row) for row in pair.rows(pair.source, table)]
        return "" if lines == sorted(rows) else f"{len(lines)} lines of {len(rows)} rows"

    def left_behind(self) -> list[str]:
        """Once the job is stopped with a savepoint: its slot and its publication stay, for it may go on."""
        with self._connect() as db:
            slots = db.execute("SELECT slot_name, active FROM pg_replication_slots WHERE database = current_database()")
            found = [f"slot {name}" for number, (name, active) in enumerate(slots) if number or active]
            names = db.execute("SELECT pubname FROM pg_publication").fetchall()
            found += [f"publication {name}" for (name,) in names[1:]]
        with self._connect(self._followed.pair.target) as db:
            return [*found, *_left_in_target(db, self.tables)]


class MariadbJob:
    """From MariaDB to tables of PostgreSQL."""

    source, target = "log", "target"
    tables = test_mariadb_cdc.TABLES

    def __init__(self, home: Path, recipe: str, _number: int, server: Callable[[str], PrivateServer]) -> None:
        log, target = server("log"), server("target")
        assert isinstance(log, MariadbServer) and isinstance(target, PostgresServer)
        self.home = home
        self._followed = test_mariadb_cdc.FollowedLog(home, log, target)
        self._followed.write(FOLLOWS, ONCE if "two-phase" in recipe else "")
        job = (home / "job.conf").read_text()
        write_job(home, job.replace("checkpoint.interval = 300", f"checkpoint.interval = 300 {ENV}"))

    def change(self, statement: str) -> None:
        self._followed.run_there(statement)

    def workload(self, seed: int) -> contextlib.AbstractContextManager[object]:
        return MariadbWorkload(self._followed.connection(), self.tables, seed)

    def _senders(self) -> Iterator[int]:
        for row in self._followed.run_there("SHOW PROCESSLIST"):
            if row[4] == "Binlog Dump":
                yield row[0]

    def end_sender(self) -> None:
        for sender in self._senders():
            try:
                self._followed.run_there(f"KILL {sender}")
            except pymysql.err.OperationalError as error:
                if error.args[0] != ER.NO_SUCH_THREAD:  # it has ended meanwhile
                    raise

    def difference(self, table: str) -> str:
        wanted = self._followed.run_there(f"SELECT * FROM {table} ORDER BY 1")
        with psycopg.connect(self._followed.target.dsn_of(self._followed.into), autocommit=True) as db:
            if db.execute("SELECT to_regclass(%s)", [f"public.{table}"]).fetchone() == (None,):
                return "it is not there"
            found = db.execute(f"SELECT * FROM {table} ORDER BY 1".encode()).fetchall()
        missing, surplus = set(wanted) - set(found), set(found) - set(wanted)
        return (
            ""
            if not (missing or surplus)
            else f"{len(missing)} missing, {len(surplus)} surplus: {[*missing, *surplus][:2]}"
        )

    def left_behind(self) -> list[str]:
        found = [f"sender {one}" for one in self._senders()]
        with psycopg.connect(self._followed.target.dsn_of(self._followed.into), autocommit=True) as db:
            return [*found, *_left_in_target(db, self.tables)]


def _left_in_target(db: psycopg.Connection, tables: tuple[str, ...]) -> Iterator[str]:
    queries = {
        "table": "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace "
        "AND relname NOT LIKE 'seatunnel%%' AND NOT relname = ANY(%(tables)s)",
        "prepared transaction": "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()",
        "open transaction": f"{NOT_CLOSED} WHERE xact_start IS NOT NULL AND datname = current_database() "
        "AND pid <> pg_backend_pid()",
    }
    for what, query in queries.items():
        for row in db.execute(query.encode(), {"tables": list(tables)}):
            yield f"{what} {row[0]}"


def job_of(recipe: str, home: Path, number: int, server: Callable[[str], PrivateServer]) -> FollowingJob:
    """Make the tables, and write the job file."""
    kind = PostgresJob if recipe.startswith("postgres") else MariadbJob
    return kind(home, recipe, number, server)
