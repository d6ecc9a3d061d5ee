"""PostgreSQL's log into a keyed table, exactly once: the time from a commit at the source until its rows can be seen.

    python -m bench.log_latency [--seconds 30] [--warm-up 10] [--rate 2000]

Transactions of three rows are committed at a steady rate, by one session of the server itself. Source and target are
schemas of one database, and the server keeps the time of every commit: the latency is the difference of both commits.
Nothing looks at the target meanwhile. Every row has to be there once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from bench import ours, pairs, pg
from tests.servers.postgres import DATABASE, PostgresServer

TABLE = f"{pg.SOURCE}.{pg.BIG_TABLE}"
COPY = f"{pg.TARGET}.{pg.BIG_TABLE}"
ROWS = 3  # of a transaction
ARRIVE_SECONDS_MAX = 60.0
MEDIAN_MAX, MOST_MAX = 0.4, 1.0
JOB = f"""env {{{{ job.mode = STREAMING, checkpoint.interval = 200, guarantee = exactly-once }}}}
source {{{{ Postgres-CDC {{{{ url = "{{url}}", user = "{{user}}", startup.mode = latest,
    table-names = ["{DATABASE}.{TABLE}"] }}}} }}}}
sink {{{{ Jdbc {{{{ {{into}} generate_sink_sql = true, database = "{DATABASE}", table = "{COPY}",
    is_exactly_once = true }}}} }}}}
"""
WRITE = f"""
    CREATE PROCEDURE write_steadily(rate int, transactions int, first bigint) LANGUAGE plpgsql AS $$
    DECLARE began timestamptz := clock_timestamp(); sent int := 0; due int; at bigint;
    BEGIN
        WHILE sent < transactions LOOP
            due := least(transactions, floor(extract(epoch FROM clock_timestamp() - began) * rate));
            WHILE sent < due LOOP
                at := first + sent * {ROWS};
                INSERT INTO {TABLE} {pg.ROWS_QUERY.format(first="at", last=f"(at + {ROWS - 1})")};
                COMMIT;
                sent := sent + 1;
            END LOOP;
            PERFORM pg_sleep(0.002);
        END LOOP;
    END $$
"""
LATENCIES = f"""
    SELECT percentile_disc(ARRAY[0.5, 0.99, 1]) WITHIN GROUP (
        ORDER BY extract(epoch FROM pg_xact_commit_timestamp(t.xmin) - pg_xact_commit_timestamp(s.xmin))
    ), count(*) FROM {TABLE} s JOIN {COPY} t USING (id) WHERE s.id >= %s
"""
DIFFERENT = f"SELECT count(*) FROM (SELECT * FROM {TABLE} EXCEPT ALL SELECT * FROM {COPY}) AS missing"


def write(server: PostgresServer, rate: int, seconds: float, first: int) -> int:
    """Commit at a steady rate; return the next key."""
    transactions = int(rate * seconds)
    with pg.connect(server) as db:
        db.execute("SET synchronous_commit = off")  # the source's disk is not what is measured
        db.execute(f"CALL write_steadily({rate}, {transactions}, {first})".encode())
    return first + transactions * ROWS


def arrived(server: PostgresServer, rows: int, stream: ours.Stream) -> None:
    def all_there() -> bool:
        with pg.connect(server) as db:
            return db.execute(f"SELECT count(*) FROM {COPY}".encode()).fetchone() == (rows,)

    stream.wait(f"{rows} rows", all_there, ARRIVE_SECONDS_MAX)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.log_latency", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--warm-up", type=float, default=10.0)
    parser.add_argument("--rate", type=int, default=2_000, help="transactions a second")
    wanted = parser.parse_args(arguments)
    with pg.server(wal_level="logical", track_commit_timestamp="on") as server, ours.home() as place:
        with pg.connect(server) as db:
            for table in (TABLE, COPY):
                db.execute(f"CREATE TABLE {table} ({pg.COLUMNS.format(key=' PRIMARY KEY')})".encode())
            db.execute(WRITE.encode())
        job = JOB.format(url=server.jdbc_url(DATABASE), user=server.user, into=ours.connection(server))
        with ours.streaming(job, place) as stream:
            stream.wait("the log to be read", lambda: is_read(server), ARRIVE_SECONDS_MAX)
            first = write(server, wanted.rate, wanted.warm_up, 1)
            arrived(server, first - 1, stream)
            last = write(server, wanted.rate, wanted.seconds, first)
            arrived(server, last - 1, stream)
            stream.stop()
        with pg.connect(server) as db:
            if db.execute(DIFFERENT.encode()).fetchone() != (0,):
                raise AssertionError("rows differ")
            found: Any = db.execute(LATENCIES.encode(), [first]).fetchone()
    median, most, longest = (float(one) for one in found[0])
    print(f"{wanted.rate} transactions of {ROWS} rows a second for {wanted.seconds:g} s ({found[1]} rows): "
          f"p50 {median:.3f} s, p99 {most:.3f} s, longest {longest:.3f} s")  # fmt: skip
    met = pairs.verdict("log to a keyed table, exactly-once, p50 in seconds", median, MEDIAN_MAX, at_most=True)
    met &= pairs.verdict("log to a keyed table, exactly-once, p99 in seconds", most, MOST_MAX, at_most=True)
    return 0 if met else 1


def is_read(server: PostgresServer) -> bool:
    with pg.connect(server) as db:
        return db.execute("SELECT 1 FROM pg_replication_slots WHERE active AND NOT temporary").fetchone() is not None


if __name__ == "__main__":
    sys.exit(main())
