"""PostgreSQL's log of 200 tables, 20 of which are busy, into keyed tables, exactly once, against the same rows in one.

    python -m bench.log_of_tables [--rows 300000] [--pairs 7] [--tables 200] [--busy 20]

The changes are in a slot before a measurement begins. It begins when the log is read, and ends when the target shows
the last change of each table.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg

from bench import ours, pairs, pg
from bench.log_to_table import MARK, SECONDS_MAX, started_reading
from tests.servers.postgres import DATABASE, PostgresServer
from tests.servers.process_tree import kill_tree

BAR = 0.7
TRANSACTION_ROWS = 2_000
COPIES = "copies"
_numbers = itertools.count(1)
JOB = """env {{ job.mode = STREAMING, checkpoint.interval = 500 }}
source {{ Postgres-CDC {{ url = "{url}", user = "{user}", startup.mode = committed-offset, slot.name = "{slot}",
    publication.name = "{publication}", publication.autocreate.mode = disabled, table-names = [{tables}] }} }}
sink {{ Jdbc {{ {into} generate_sink_sql = true, database = "{copies}", table = "{schema}.${{table_name}}",
    is_exactly_once = true }} }}
"""


@dataclass
class Log:
    """Changes of some tables in a slot, of which each measurement reads a copy. ``busy``: the tables with rows."""

    server: PostgresServer
    name: str
    tables: Sequence[str]
    busy: Sequence[str]
    rows: int

    def fill(self) -> None:
        with pg.connect(self.server) as db:
            named = ", ".join(f"{pg.SOURCE}.{table}" for table in self.tables)
            for table in self.tables:
                db.execute(f"CREATE TABLE {pg.SOURCE}.{table} ({pg.COLUMNS.format(key=' PRIMARY KEY')})".encode())
            db.execute(f"CREATE PUBLICATION {self.name} FOR TABLE {named}".encode())
            db.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [self.name])
            turns = itertools.cycle(self.busy)
            for first in range(1, self.rows + 1, TRANSACTION_ROWS):
                query = pg.ROWS_QUERY.format(first=first, last=min(first + TRANSACTION_ROWS - 1, self.rows))
                db.execute(f"INSERT INTO {pg.SOURCE}.{next(turns)} {query}".encode())
            for table in self.busy:
                query = pg.ROWS_QUERY.format(first=MARK, last=MARK)
                db.execute(f"INSERT INTO {pg.SOURCE}.{table} {query}".encode())

    def drained(self, place: Path) -> float:
        """Seconds from the first read to the last change."""
        slot = f"{self.name}_{next(_numbers)}"
        with pg.connect(self.server) as db:
            db.execute("SELECT pg_copy_logical_replication_slot(%s, %s)", [self.name, slot])
        with self._target() as db:
            db.execute(f"DROP SCHEMA IF EXISTS {pg.SOURCE} CASCADE".encode())
            db.execute(f"CREATE SCHEMA {pg.SOURCE}".encode())
            for table in self.tables:
                db.execute(f"CREATE TABLE {pg.SOURCE}.{table} ({pg.COLUMNS.format(key=' PRIMARY KEY')})".encode())
        pg.checkpoint(self.server)
        into = ours.CONNECTION.format(url=self.server.jdbc_url(COPIES), user=self.server.user)
        names = ", ".join(f'"{DATABASE}.{pg.SOURCE}.{table}"' for table in self.tables)
        job = JOB.format(
            url=self.server.jdbc_url(DATABASE), user=self.server.user, slot=slot, publication=self.name, tables=names,
            into=into, copies=COPIES, schema=pg.SOURCE,
        )  # fmt: skip
        home = place / f"home{next(_numbers)}"
        process = ours.begin(job, place, home)
        try:
            deadline = time.time() + SECONDS_MAX
            with self._target() as db:
                while not self._all_there(db):
                    if time.time() > deadline or process.poll() is not None:
                        raise RuntimeError("the changes did not arrive")
                    time.sleep(0.005)
                ended = time.time()
                self._check(db)
        finally:
            kill_tree(process)
        ours.until_gone(home)
        with pg.connect(self.server) as db:
            while db.execute("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s AND active", [slot]).fetchone():
                time.sleep(0.02)
            db.execute("SELECT pg_drop_replication_slot(%s)", [slot])
        return ended - started_reading(home)

    def _target(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.server.dsn_of(COPIES), autocommit=True)

    def _all_there(self, db: psycopg.Connection[tuple[object, ...]]) -> bool:
        marks = " AND ".join(f"EXISTS (SELECT 1 FROM {pg.SOURCE}.{table} WHERE id = {MARK})" for table in self.busy)
        return db.execute(f"SELECT {marks}".encode()).fetchone() == (True,)

    def _check(self, db: psycopg.Connection[tuple[object, ...]]) -> None:
        """A measurement that lost rows is worth nothing."""
        for table in self.busy:
            digest = f"SELECT count(*), sum(quantity), sum(id), sum(hashtext(t::text)) FROM {pg.SOURCE}.{table} t"
            with pg.connect(self.server) as source:
                wanted = source.execute(digest.encode()).fetchone()
            if (found := db.execute(digest.encode()).fetchone()) != wanted:
                raise AssertionError(f"{table}: the target has {found} instead of {wanted}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.log_of_tables", description=__doc__)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--busy", type=int, default=20)
    wanted = parser.parse_args(arguments)
    many = [f"m{number:03}" for number in range(wanted.tables)]
    with pg.server(wal_level="logical", max_replication_slots="20") as server, ours.home() as place:
        with pg.connect(server) as db:
            db.execute(f"CREATE DATABASE {COPIES}".encode())
        one = Log(server, "one_table", ["single"], ["single"], wanted.rows)
        several = Log(server, "many_tables", many, many[:: wanted.tables // wanted.busy], wanted.rows)
        for log in (one, several):
            log.fill()
        ways = {"one": lambda: one.drained(place), "many": lambda: several.drained(place)}
        seconds = pairs.interleave(ways, wanted.pairs)
        name = f"log of {wanted.tables} tables, {wanted.busy} of them busy"
        pairs.report(name, seconds, base="one", rows=wanted.rows)
        return 0 if pairs.verdict_of_pairs(seconds, "many", "one", BAR, name) else 1


if __name__ == "__main__":
    sys.exit(main())
