"""PostgreSQL's log into a keyed table, exactly once, against the server's own subscription to the same changes.

python -m bench.log_to_table [--rows 1000000] [--pairs 7] [--kinds insert update delete] [--recipe direct]

The changes are in a slot before a measurement begins. It begins when the log is read (for a subscription: when it is
enabled), and ends when the target shows the last change. Both sides begin with the same rows in the target. The server
makes a checkpoint for each 100,000 rows, as it does if they are written over minutes: from there on it decodes.

Like those of a subscription, the rows of the recipe `direct` are visible at once; those of `staged` wait for their
checkpoint.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg

from bench import cpu, ours, pairs, pg
from bench.pg_log import KINDS, PUBLICATION, TABLE, TRANSACTION_ROWS
from tests.servers.postgres import DATABASE, PostgresServer
from tests.servers.process_tree import kill_tree

BAR = 1.0
MARK = -1  # the key of the last change
SECONDS_MAX = 300.0
CHECKPOINT_ROWS = 100_000
COPIES = "copies"
_numbers = itertools.count(1)
JOB = """env {{ job.mode = STREAMING, checkpoint.interval = 500 }}
source {{ Postgres-CDC {{ url = "{url}", user = "{user}", startup.mode = committed-offset, slot.name = "{slot}",
    publication.name = "{publication}", publication.autocreate.mode = disabled,
    table-names = ["{database}.{source}.{table}"] }} }}
sink {{ Jdbc {{ {into} generate_sink_sql = true, database = "{copies}", table = "{source}.{table}",
    is_exactly_once = true, exactly_once_recipe = {recipe} }} }}
"""


class Drain:
    """The changes of one kind, in a slot of which each measurement reads a copy."""

    def __init__(self, server: PostgresServer, kind: str, rows: int, recipe: str) -> None:
        self.server, self.kind, self.rows, self.recipe = server, kind, rows, recipe
        self.slot = f"drain_{kind}"
        with pg.connect(server) as db:
            self._fill(db)
            db.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [self.slot])
            for first in range(1, rows + 1, TRANSACTION_ROWS):
                last = min(first + TRANSACTION_ROWS - 1, rows)
                db.execute(KINDS[kind].format(first=first, last=last).encode())
                if last % CHECKPOINT_ROWS == 0:
                    db.execute("CHECKPOINT")
            db.execute(f"INSERT INTO {TABLE} {pg.ROWS_QUERY.format(first=MARK, last=MARK)}".encode())

    def _fill(self, db: psycopg.Connection[tuple[object, ...]]) -> None:
        db.execute(f"TRUNCATE {TABLE}".encode())
        if self.kind != "insert":
            db.execute(f"INSERT INTO {TABLE} {pg.ROWS_QUERY.format(first=1, last=self.rows)}".encode())

    @contextmanager
    def copy(self) -> Iterator[str]:
        """A copy of the slot, and the target as it was before the changes."""
        name = f"{self.slot}_{next(_numbers)}"
        with pg.connect(self.server) as db:
            db.execute("SELECT pg_copy_logical_replication_slot(%s, %s)", [self.slot, name])
        with self._target() as db:
            self._fill(db)
            db.execute(f"VACUUM (ANALYZE) {TABLE}".encode())
        pg.checkpoint(self.server)
        yield name
        drop_slot(self.server, name)

    def _target(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.server.dsn_of(COPIES), autocommit=True)

    def _await_mark(self, alive: Callable[[], bool]) -> float:
        """The time at which the target shows the last change."""
        ended = await_mark(self.server, alive)
        with self._target() as db:
            self._check(db)
        return ended

    def _check(self, db: psycopg.Connection[tuple[object, ...]]) -> None:
        """A measurement that lost rows is worth nothing."""
        digest = f"SELECT count(*), sum(quantity), sum(id), sum(hashtext(t::text)) FROM {TABLE} t"
        with pg.connect(self.server) as source:
            wanted = source.execute(digest.encode()).fetchone()
        found = db.execute(digest.encode()).fetchone()
        if found != wanted:
            raise AssertionError(f"{self.kind}: the target has {found} instead of {wanted}")

    # ---------------------------------------------------------------- both ways

    def by_subscription(self) -> float:
        with self.copy() as slot, self._target() as db:
            options = f"create_slot = false, slot_name = {slot}, copy_data = false, enabled = false"
            where = f"host=127.0.0.1 port={self.server.port} user={self.server.user} dbname={DATABASE}"
            db.execute(
                f"CREATE SUBSCRIPTION s CONNECTION '{where}' PUBLICATION {PUBLICATION} WITH ({options})".encode()
            )
            began = time.time()
            db.execute("ALTER SUBSCRIPTION s ENABLE")
            seconds = self._await_mark(lambda: True) - began
            db.execute("ALTER SUBSCRIPTION s DISABLE")
            db.execute("ALTER SUBSCRIPTION s SET (slot_name = NONE)")
            db.execute("DROP SUBSCRIPTION s")
        return seconds

    def by_ours(self, place: Path) -> float:
        return self.ours_with_cpu(place)[0]

    def ours_with_cpu(self, place: Path, command: Sequence[str] = ours.PLAIN) -> tuple[float, float]:
        """The seconds, and the processor seconds of the workers."""
        with self.copy() as slot:
            job = job_of(self.server, slot, self.recipe)
            home = place / f"home{next(_numbers)}"
            process = ours.begin(job, place, home, command)
            try:
                ended = self._await_mark(lambda: process.poll() is None)
                used = cpu.of_workers(process.pid)
            finally:
                kill_tree(process)
            ours.until_gone(home)
            return ended - started_reading(home), used


def make_tables(server: PostgresServer) -> None:
    """The table and the publication of the source, and an empty table of the same name in the target's database."""
    table = f"CREATE TABLE {TABLE} ({pg.COLUMNS.format(key=' PRIMARY KEY')})"
    with pg.connect(server) as db:
        for one in (f"CREATE DATABASE {COPIES}", table, f"CREATE PUBLICATION {PUBLICATION} FOR TABLE {TABLE}"):
            db.execute(one.encode())
    with psycopg.connect(server.dsn_of(COPIES), autocommit=True) as db:
        for one in (f"CREATE SCHEMA {pg.SOURCE}", table):
            db.execute(one.encode())


def job_of(server: PostgresServer, slot: str, recipe: str = "direct") -> str:
    """The job that follows a slot into the target."""
    return JOB.format(
        url=server.jdbc_url(DATABASE), user=server.user, slot=slot, publication=PUBLICATION, database=DATABASE,
        source=pg.SOURCE, table=pg.BIG_TABLE, copies=COPIES, recipe=recipe,
        into=ours.CONNECTION.format(url=server.jdbc_url(COPIES), user=server.user),
    )  # fmt: skip


def await_mark(server: PostgresServer, alive: Callable[[], bool]) -> float:
    """The time at which the target shows the last change."""
    deadline = time.time() + SECONDS_MAX
    with psycopg.connect(server.dsn_of(COPIES), autocommit=True) as db:
        db.execute("SET enable_seqscan = off")  # the look must not cost what it measures
        while not db.execute(f"SELECT 1 FROM {TABLE} WHERE id = {MARK}".encode()).fetchone():
            if time.time() > deadline or not alive():
                raise RuntimeError("the changes did not arrive")
            time.sleep(0.01)
        return time.time()


def drop_slot(server: PostgresServer, name: str) -> None:
    """Drop a slot, once its reader is gone; a subscription may have dropped it."""
    with pg.connect(server) as db:
        while db.execute("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s AND active", [name]).fetchone():
            time.sleep(0.02)
        db.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", [name])


def started_reading(home: Path) -> float:
    """When the log was first read."""
    return next(moment_of(one) for one in events_of(home) if one.get("state") == "RUNNING")


def events_of(home: Path) -> list[dict[str, Any]]:
    """The events of the one job under a home; none before it has begun."""
    return [json.loads(line) for log in home.rglob("events.jsonl") for line in log.read_text().splitlines()]


def moment_of(event: dict[str, Any]) -> float:
    """The time of an event, in seconds since 1970."""
    return datetime.fromisoformat(event["time"]).timestamp()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.log_to_table", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--recipe", default="direct", choices=["direct", "staged"])
    parser.add_argument("--kinds", nargs="+", default=[*KINDS], choices=[*KINDS])
    wanted = parser.parse_args(arguments)
    met = True
    # a subscription that begins soon after another one would wait for 5 seconds
    running = pg.server(wal_level="logical", max_replication_slots="20", wal_retrieve_retry_interval="100ms")
    with running as server, ours.home() as place:
        make_tables(server)
        for kind in wanted.kinds:
            drain = Drain(server, kind, wanted.rows, wanted.recipe)
            ways = {"subscription": drain.by_subscription, "ours": lambda drain=drain: drain.by_ours(place)}  # type: ignore[misc]
            seconds = pairs.interleave(ways, wanted.pairs)
            pairs.report(f"log to table, {kind}", seconds, base="subscription", rows=wanted.rows)
            met &= pairs.verdict_of_pairs(seconds, "ours", "subscription", BAR, kind)
            with pg.connect(server) as db:
                db.execute("SELECT pg_drop_replication_slot(%s)", [drain.slot])
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
