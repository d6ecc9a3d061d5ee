"""Follows two databases for half an hour: rows, a change of a schema every minute, a kill every 20 seconds; then compares.

python -m e2e.cdc.soak [--minutes 30] [--every 20] [--seed N]

One job follows PostgreSQL and MariaDB into PostgreSQL. Killed are the driver, in the first half only, the senders of both
logs, and all three servers. In the end ``seatunnel reconcile`` compares every row, and there is one slot.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pymysql

from e2e.cdc.background import Background
from e2e.soak.memory import SAMPLES_MIN, Meter, growth
from e2e.support import Finished, Process, finish, kill_driver, start, wait_for, write_job
from tests.servers.mariadb import ROW_LOG, MariadbServer
from tests.servers.postgres import PostgresServer

TABLES = ("orders", "customers", "items")
DDL_SECONDS = 60.0
SETTLE_SECONDS = 240
GROWTH_MAX = 0.03
INTO = ("of_postgres", "of_mariadb")
JOB = """
env {{ job.mode = STREAMING, checkpoint.interval = 1000, job.retry.times = 1000, job.retry.interval.seconds = 1 }}
source {{
  Postgres-CDC {{ url = "{postgres}", user = postgres, table-names = [{postgres_tables}], plugin_output = a,
                  schema-changes.enabled = true }}
  MariaDB-CDC {{ url = "{mariadb}", username = root, table-names = [{mariadb_tables}], plugin_output = b,
                 schema-changes.enabled = true }}
}}
sink {{
  Jdbc {{ plugin_input = a, {target}, table = "of_postgres.${{table_name}}" }}
  Jdbc {{ plugin_input = b, {target}, table = "of_mariadb.${{table_name}}" }}
}}
"""


class Sources:
    """Both source servers: statements for either, and rows that change in them."""

    def __init__(self, postgres: PostgresServer, mariadb: MariadbServer) -> None:
        self.postgres, self.mariadb = postgres, mariadb
        for run in (self.in_postgres, self.in_mariadb):
            for table in TABLES:
                run(f"CREATE TABLE {table} (id int PRIMARY KEY, seq int)")
                run(f"INSERT INTO {table} VALUES (1, 1), (2, 2), (3, 3)")

    def in_postgres(self, *statements: str) -> None:
        with psycopg.connect(self.postgres.dsn, autocommit=True) as db:
            for one in statements:
                db.execute(one.encode())

    def in_mariadb(self, *statements: str) -> None:
        with pymysql.connect(**self.mariadb.connection(), autocommit=True) as db, db.cursor() as cursor:
            for one in statements:
                cursor.execute(one)

    def end_walsender(self) -> None:
        self.in_postgres("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'walsender'")

    def end_dump(self) -> None:
        with pymysql.connect(**self.mariadb.connection(), autocommit=True) as db, db.cursor() as cursor:
            cursor.execute("SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'")
            for (number,) in cursor.fetchall():
                cursor.execute(f"KILL {number}")


class Writer(Background):
    """Inserts, updates and deletes rows in columns that every version of a table has. A server that is down, and a
    statement that meets it, are waited for."""

    def __init__(self, name: str, run: Callable[..., None], seed: int) -> None:
        super().__init__(f"writer of {name}")
        self._execute, self._random = run, random.Random(seed)
        self.written = 0

    def work(self) -> None:
        key = 10
        while not self.stopped.wait(0.02):
            key += 1
            table, other = self._random.choice(TABLES), self._random.randint(1, key)
            statements = [f"INSERT INTO {table} (id, seq) VALUES ({key}, {key})"]
            statements += [f"UPDATE {table} SET seq = seq + 1 WHERE id BETWEEN {other} AND {other + 20}"]
            statements += [f"DELETE FROM {table} WHERE id = {other}"] if self._random.random() < 0.2 else []
            try:
                self._execute(*statements)
                self.written += len(statements)
            except (psycopg.Error, pymysql.Error):
                time.sleep(0.2)


class SchemaChanger(Background):
    """Adds a column in one of the databases every minute, and drops the one before."""

    def __init__(self, sources: Sources, seconds: float) -> None:
        super().__init__("changer of schemas")
        self._runs = (sources.in_postgres, sources.in_mariadb)
        self._seconds = seconds
        self.made = 0

    def work(self) -> None:
        while not self.stopped.wait(self._seconds):
            number = self.made
            run, table = self._runs[number % 2], TABLES[number // 2 % len(TABLES)]
            statement = f"ALTER TABLE {table} ADD COLUMN extra{number} int DEFAULT {number}"
            earlier = number - 2 * len(TABLES)
            drop = f"ALTER TABLE {table} DROP COLUMN extra{earlier}"
            for one in (statement, *([drop] if earlier >= 0 else [])):
                wait_for(one, partial(_done, run, one), 60.0)
            self.made += 1


def _done(run: Callable[..., None], statement: str) -> bool:
    """Whether the statement was run; a server may be down."""
    try:
        run(statement)
    except (psycopg.errors.DuplicateColumn, psycopg.errors.UndefinedColumn):
        return True
    except pymysql.err.OperationalError as error:
        return error.args[0] in (1060, 1091)
    except (psycopg.Error, pymysql.Error):
        return False
    return True


class Soak:
    """The job with its servers."""

    def __init__(self, home: Path, sources: Sources, target: PostgresServer) -> None:
        self.home, self.sources, self.target = home, sources, target
        with psycopg.connect(target.dsn, autocommit=True) as db:
            for schema in INTO:
                db.execute(f"CREATE SCHEMA {schema}".encode())
        into = f'url = "{target.jdbc_url()}", user = postgres, generate_sink_sql = true, database = postgres'
        write_job(
            home,
            JOB.format(
                postgres=sources.postgres.jdbc_url(), mariadb=sources.mariadb.jdbc_url(), target=into,
                postgres_tables=", ".join(f'"postgres.public.{table}"' for table in TABLES),
                mariadb_tables=", ".join(f'"test.{table}"' for table in TABLES),
            ),
        )  # fmt: skip
        self.process = self.run()

    def run(self, *more: str) -> Process:
        words = ("run", "job.conf", "--job-id", "job", *more)
        self.process = start(self.home, *words, errors=self.home / "errors", output=self.home / "out")
        return self.process

    def restart_driver(self) -> None:
        kill_driver(self.process)
        self.run("--restore", "latest")

    def victims(self, *, drivers: bool) -> dict[str, Callable[[], None]]:
        servers = {"source": self.sources.postgres, "binlog source": self.sources.mariadb, "target": self.target}
        found: dict[str, Callable[[], None]] = {
            "walsender": self.sources.end_walsender,
            "dump thread": self.sources.end_dump,
            **{name: lambda one=server: _restart(one) for name, server in servers.items()},  # type: ignore[misc]
        }
        return {**found, "driver": self.restart_driver} if drivers else found

    def reconciled(self) -> Finished:
        words = ("reconcile", "job.conf", "--json", "--job-id", "job", "--settle", str(SETTLE_SECONDS))
        return finish(start(self.home, *words), 2.0 * SETTLE_SECONDS)


def _restart(server: PostgresServer | MariadbServer) -> None:
    server.kill9()
    time.sleep(1.0)
    server.start()


@contextmanager
def soaking() -> Iterator[Soak]:
    home = Path(tempfile.mkdtemp(prefix="cdc-soak-"))
    binlog = ROW_LOG
    with (
        PostgresServer.running(settings={"wal_level": "logical"}) as postgres,
        MariadbServer.running(settings=binlog) as mariadb,
        PostgresServer.running() as target,
    ):
        soak = Soak(home, Sources(postgres, mariadb), target)
        try:
            yield soak
        finally:
            if soak.process.poll() is None:
                kill_driver(soak.process)


def soaked(soak: Soak, seconds: float, every: float, seed: int) -> list[str]:
    """Run it; return what is wrong in the end."""
    chosen, began = random.Random(seed), time.monotonic()
    meter = Meter(lambda: soak.process.pid)
    measuring = threading.Thread(target=meter.run, daemon=True)
    measuring.start()
    with ExitStack() as stack:
        sources = soak.sources
        writers = [Writer("PostgreSQL", sources.in_postgres, seed), Writer("MariaDB", sources.in_mariadb, seed + 1)]
        for writer in writers:
            stack.enter_context(writer)
        changer = stack.enter_context(SchemaChanger(sources, min(DDL_SECONDS, seconds / 4)))
        kills: dict[str, int] = {}
        while time.monotonic() - began < seconds:
            time.sleep(min(every, max(0.0, began + seconds - time.monotonic())))
            victims = soak.victims(drivers=time.monotonic() - began < seconds / 2)
            name = chosen.choice(sorted(victims))
            victims[name]()
            kills[name] = kills.get(name, 0) + 1
            print(f"{time.monotonic() - began:6.0f} s  killed the {name}", flush=True)
    print(f"{sum(writer.written for writer in writers):,} changes, {changer.made} of schemas, kills: {kills}")
    meter.stop()
    measuring.join()
    return [*differences(soak), *leftovers(soak), *grown(meter, began + seconds / 2)]


def differences(soak: Soak) -> list[str]:
    ended = soak.reconciled()
    if ended.code not in (0, 1, 3):
        return [f"reconcile ended with {ended.code}: {ended.err[-1000:]}"]
    tables: list[dict[str, Any]] = json.loads(ended.out)["tables"]
    rows = sum(table["source_rows"] or 0 for table in tables)
    print(f"reconcile: {len(tables)} tables, {rows:,} rows, exit code {ended.code}")
    wrong = [f"{one['table']}: {one}"[:600] for one in tables if one["differences"] or one.get("reason")]
    return wrong or ([] if ended.code == 0 else [ended.out[-1000:]])


def leftovers(soak: Soak) -> list[str]:
    with psycopg.connect(soak.sources.postgres.dsn) as db:
        slots = db.execute("SELECT slot_name, temporary FROM pg_replication_slots").fetchall()
    return [] if len(slots) == 1 and not slots[0][1] else [f"replication slots: {slots}"]


def grown(meter: Meter, since: float) -> list[str]:
    samples = meter.since(since) if meter.samples else []
    if len(samples) < SAMPLES_MIN:
        print(f"memory: {len(samples)} samples say nothing")
        return []
    found = growth([(one.at, one.python) for one in samples])
    print(f"the driver's memory over the second half: {found}, bar: {GROWTH_MAX:.0%}")
    return [f"the driver has grown: {found}"] if found.share >= GROWTH_MAX else []


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m e2e.cdc.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--every", type=float, default=20.0, help="seconds from kill to kill (20)")
    parser.add_argument("--seed", type=int, default=None)
    given = parser.parse_args()
    seed = random.randrange(2**31) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    with soaking() as soak:
        wrong = soaked(soak, 60 * given.minutes, given.every, seed)
        print(*wrong, sep="\n")
        print(f"{'REACHED' if not wrong else 'NOT REACHED'}; the job's home is {soak.home}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
