"""The trouble of one table stays its own (issue 25, bar 6): a change that its target refuses isolates it once, and the
other 49 go on. Once its target is mended, approving the change lets it catch up exactly, without another copy."""

from __future__ import annotations

import json
import time

import psycopg

from e2e.cdc.background import Background
from e2e.cdc.following_job import SECONDS
from e2e.cdc.test_postgres_cdc import Followed, followed, logical
from e2e.cdc.test_schema_changes import FOLLOWS
from e2e.support import events, seatunnel, wait_alive, wait_for, write_job

__all__ = ["followed", "logical"]
TABLES = tuple(f"t{number:02}" for number in range(50))
TABLE, *OTHERS = TABLES
WINDOW_SECONDS = 10.0
RATE_MIN = 0.9


class Writer(Background):
    """Inserts one row into each of the tables, 20 times a second. ``written``: rounds so far."""

    def __init__(self, dsn: str) -> None:
        super().__init__("writer")
        self._dsn = dsn
        self.written = 0

    def work(self) -> None:
        with psycopg.connect(self._dsn, autocommit=True) as db:
            while not self.stopped.wait(0.05):
                number = 1000 + self.written
                db.execute("; ".join(f"INSERT INTO {table} (id) VALUES ({number})" for table in TABLES).encode())
                self.written += 1


def arrived(followed: Followed) -> int:
    """The rows of the other tables that are in the target."""
    with followed.pair.connect(followed.pair.target) as db:
        counts = " + ".join(f"(SELECT count(*) FROM {table})" for table in OTHERS)
        row = db.execute(f"SELECT {counts}".encode()).fetchone()
    assert row is not None
    return int(row[0])


def share(followed: Followed, writer: Writer) -> float:
    """The rows of the other tables that arrive in ten seconds, as a share of those that are written meanwhile."""
    rows, rounds = arrived(followed), writer.written
    time.sleep(WINDOW_SECONDS)
    return (arrived(followed) - rows) / ((writer.written - rounds) * len(OTHERS))


def test_the_trouble_of_one_table_stays_its_own(followed: Followed) -> None:
    pair = followed.pair
    followed.execute(
        pair.source,
        *(f"CREATE TABLE {table} (id int PRIMARY KEY, size int DEFAULT 7)" for table in TABLES),
        *(f"INSERT INTO {table} (id) SELECT generate_series(1, 100)" for table in TABLES),
    )  # fmt: skip
    names = ", ".join(f'"{pair.source}.public.{table}"' for table in TABLES)
    write_job(
        followed.home,
        f"""
        env {{ job.mode = STREAMING, checkpoint.interval = 300 }}
        source {{ Postgres-CDC {{ url = "{pair.server.jdbc_url(pair.source)}", user = postgres,
                                  table-names = [{names}] {FOLLOWS} }} }}
        sink {{ Jdbc {{ {pair.jdbc(pair.target)}, generate_sink_sql = true, database = {pair.target},
                        table = "public.${{table_name}}" }} }}""",
    )
    process = followed.run()
    followed.wait_equal(TABLES)
    statement = f"ALTER TABLE {TABLE} ALTER size TYPE text USING 'size ' || size"
    with Writer(followed.source_dsn) as writer:
        time.sleep(2.0)
        before = share(followed, writer)
        followed.execute(pair.source, statement)
        after = share(followed, writer)
        assert after >= RATE_MIN * before, (before, after)
        wait_alive(process, "the table to be isolated", lambda: events(followed.home, "sink_left_out"), SECONDS)
        (refused,) = events(followed.home, "sink_left_out")
        assert "ALTER COLUMN size TYPE text" in refused["cause"]["message"]
        assert "seatunnel table reset JOB TABLE" in refused["cause"]["remedy"]
        (waiting,) = json.loads(seatunnel(followed.home, "changes", "list", "job", "--json").out)
        assert f"seatunnel changes approve JOB {waiting['change']}" in refused["cause"]["remedy"]
        followed.execute(pair.target, statement)
        done = seatunnel(followed.home, "changes", "approve", "job", waiting["change"])
        assert done.code == 0, done
        joins = f"{TABLE}: it joins the log where it had stopped"
        wait_for("the table to join", lambda: joins in (followed.home / "errors").read_text(), SECONDS)
    followed.wait_equal(TABLES)
