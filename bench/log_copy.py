"""The copy of a table that is followed afterwards, while others change it, against the same copy while nothing changes.

python -m bench.log_copy [--rows 3000000] [--pairs 5] [--rate 2000] [--limit]

It begins with the first unit of the copy and ends when the copy is committed. The changes are single updates, each a
transaction, made by one session of the server itself. Afterwards the log is followed until the target has them all.
``--limit`` also measures the bare pipes of ``bench.pipes`` beside the same changes: the session that makes these takes
processor time from any copy.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench import ours, pairs, pg
from bench.log_to_table import events_of, moment_of
from bench.pipes import measure_pipes
from tests.servers.postgres import DATABASE, PostgresServer
from tests.servers.process_tree import kill_tree

BAR = 0.85
SECONDS_MAX = 300.0
PIPES = "pipes alone"
TABLE, COPY = f"{pg.SOURCE}.{pg.BIG_TABLE}", f"{pg.TARGET}.{pg.BIG_TABLE}"
JOB = f"""env {{{{ job.mode = STREAMING, checkpoint.interval = 1000, parallelism = 2 }}}}
source {{{{ Postgres-CDC {{{{ url = "{{url}}", user = "{{user}}", table-names = ["{DATABASE}.{TABLE}"] }}}} }}}}
sink {{{{ Jdbc {{{{ {{into}} generate_sink_sql = true, database = "{DATABASE}", table = "{COPY}" }}}} }}}}
"""
CHANGE = f"""
    CREATE PROCEDURE change_steadily(rate int, rows bigint) LANGUAGE plpgsql AS $$
    DECLARE began timestamptz := clock_timestamp(); made int := 0; due int;
    BEGIN
        WHILE EXISTS (SELECT 1 FROM changing) LOOP
            due := floor(extract(epoch FROM clock_timestamp() - began) * rate);
            WHILE made < due LOOP
                UPDATE {TABLE} SET quantity = quantity + 1 WHERE id = 1 + floor(random() * rows)::bigint;
                COMMIT;
                made := made + 1;
            END LOOP;
            PERFORM pg_sleep(0.005);
            COMMIT;
        END LOOP;
    END $$
"""
DIFFERENT = f"SELECT count(*) FROM (SELECT * FROM {TABLE} EXCEPT ALL SELECT * FROM {COPY}) AS missing"


@contextmanager
def changes(server: PostgresServer, rate: int, rows: int) -> Iterator[None]:
    """Change rows meanwhile, so many times a second; at a rate of 0 none."""
    if not rate:
        yield
        return

    def change() -> None:
        with pg.connect(server) as db:
            db.execute("SET synchronous_commit = off")
            db.execute(f"CALL change_steadily({rate}, {rows})".encode())

    with pg.connect(server) as db:
        db.execute("INSERT INTO changing VALUES (1)")
        thread = threading.Thread(target=change)
        thread.start()
        try:
            yield
        finally:
            db.execute("DELETE FROM changing")
            thread.join()


def copied(server: PostgresServer, place: Path, rate: int, rows: int) -> float:
    """Seconds of the copy, while rows change ``rate`` times a second."""
    pg.drop_targets(server)
    pg.checkpoint(server)
    into = ours.CONNECTION.format(url=server.jdbc_url(DATABASE), user=server.user)
    home = place / f"home{time.monotonic_ns()}"
    job = JOB.format(url=server.jdbc_url(DATABASE), user=server.user, into=into)
    with changes(server, rate, rows):
        process = ours.begin(job, place, home)
        seconds = copy_seconds(home)
    try:
        await_equal(server)
    finally:
        kill_tree(process)
    ours.until_gone(home)
    with pg.connect(server) as db:
        while db.execute("SELECT 1 FROM pg_replication_slots WHERE active").fetchone():
            time.sleep(0.05)
        db.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
    return seconds


def piped(server: PostgresServer, rate: int, rows: int) -> float:
    """Seconds of bare pipes from the same table into an empty one with its key; no log is followed."""
    with changes(server, rate, rows):
        return measure_pipes(server, rows, keyed=True)


def copy_seconds(home: Path) -> float:
    """Wait for the end of the copy; from its first unit to its commit."""
    until = time.monotonic() + SECONDS_MAX
    while time.monotonic() < until:
        found = [one for one in events_of(home) if str(one.get("table", "")).endswith(TABLE)]
        states = {str(one.get("state")): moment_of(one) for one in found}
        if "DONE" in states:
            return states["DONE"] - states["RUNNING"]
        time.sleep(0.05)
    raise RuntimeError("the copy has not ended")


def await_equal(server: PostgresServer) -> None:
    """A measurement whose target lacks rows is worth nothing."""
    until = time.monotonic() + SECONDS_MAX
    with pg.connect(server) as db:
        while db.execute(DIFFERENT.encode()).fetchone() != (0,):
            if time.monotonic() > until:
                raise RuntimeError("the target has not caught up")
            time.sleep(0.5)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.log_copy", description=__doc__)
    parser.add_argument("--rows", type=int, default=pg.ROWS)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--rate", type=int, default=2_000, help="changes a second")
    parser.add_argument("--limit", action="store_true", help="also measure bare pipes")
    wanted = parser.parse_args(arguments)
    with pg.server(wal_level="logical") as server, ours.home() as place:
        pg.make_big_table(server, wanted.rows)
        with pg.connect(server) as db:
            db.execute("CREATE TABLE changing (id int)")
            db.execute(CHANGE.encode())
        ways = {
            "alone": partial(copied, server, place, 0, wanted.rows),
            "while rows change": partial(copied, server, place, wanted.rate, wanted.rows),
        }
        bare = {PIPES: 0, "pipes while rows change": wanted.rate} if wanted.limit else {}
        limits = {way: partial(piped, server, rate, wanted.rows) for way, rate in bare.items()}
        seconds = pairs.interleave({**ways, **limits}, wanted.pairs)
    pairs.report("copy of a followed table", {way: seconds[way] for way in ways}, base="alone", rows=wanted.rows)
    if limits:
        pairs.report("copy by bare pipes", {way: seconds[way] for way in limits}, base=PIPES, rows=wanted.rows)
    return 0 if pairs.verdict_of_pairs(seconds, "while rows change", "alone", BAR, "copy") else 1


if __name__ == "__main__":
    sys.exit(main())
