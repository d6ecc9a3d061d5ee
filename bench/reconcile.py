"""Comparing two tables of PostgreSQL by content, against reading both with psql into nothing.

    python -m bench.reconcile [--rows 3000000] [--pairs 5]

The base is `COPY … TO STDOUT` of both tables at once, which computes nothing. Ours is the public command with its
start, once on equal tables, and once on tables of which three rows differ; their number is checked each time. Its peak
memory is measured for all rows, and for a tenth of them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench import pairs, pg
from bench.pipes import psql
from tests.servers.postgres import PostgresServer

JOB = """
source {{ Jdbc {{ url = "{url}", user = postgres, table_path = "source.big" }} }}
sink {{ Jdbc {{ url = "{url}", user = postgres, generate_sink_sql = true, table = "target.{table}" }} }}
"""
SPEED_BAR = 0.2
MEMORY_BAR = 1.1


def read_both(server: PostgresServer) -> float:
    commands = [
        psql(server, f"COPY {schema}.{pg.BIG_TABLE} TO STDOUT (FORMAT binary)") for schema in (pg.SOURCE, pg.TARGET)
    ]
    began = time.perf_counter()
    readers = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
    codes = [reader.wait() for reader in readers]
    if any(codes):
        raise RuntimeError(f"psql failed: exit codes {codes}")
    return time.perf_counter() - began


def compare(home: Path, table: str, expected: int, *more: str) -> tuple[float, int]:
    """Run the command on one target; return its seconds and its peak memory in kilobytes. It must find so many
    differences."""
    command = [sys.executable, "-m", "seatunnel_py", "reconcile", str(home / f"{table}.conf"), "--json", *more]
    output = home / "output"
    began = time.perf_counter()
    with output.open("wb") as out:
        process = subprocess.Popen(
            command, env={**os.environ, "SEATUNNEL_HOME": str(home / "jobs")}, stdout=out, stderr=subprocess.DEVNULL
        )
        _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    found = json.loads(output.read_bytes())["differing"]
    if found != expected or process.returncode != bool(expected):
        raise AssertionError(f"{found} rows differ, not {expected}; exit code {process.returncode}")
    return seconds, used.ru_maxrss


def make_targets(server: PostgresServer, home: Path, rows: int) -> None:
    """A copy, and a copy of which three rows differ, each with the job that compares it."""
    big = f"{pg.SOURCE}.{pg.BIG_TABLE}"
    with pg.connect(server) as db:
        for table in (pg.BIG_TABLE, "changed"):
            db.execute(f"CREATE TABLE {pg.TARGET}.{table} AS SELECT * FROM {big}")
            db.execute(f"ALTER TABLE {pg.TARGET}.{table} ADD PRIMARY KEY (id)")
            (home / f"{table}.conf").write_text(JOB.format(url=server.jdbc_url(db.info.dbname), table=table))
        db.execute(f"DELETE FROM {pg.TARGET}.changed WHERE id = {rows // 2}")
        db.execute(f"UPDATE {pg.TARGET}.changed SET name = 'x' WHERE id = {rows // 3}")
        db.execute(f"UPDATE {pg.TARGET}.changed SET price = -1 WHERE id = {rows // 5}")
        db.execute("VACUUM (FREEZE, ANALYZE)")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.reconcile", description=__doc__)
    parser.add_argument("--rows", type=int, default=pg.ROWS)
    parser.add_argument("--pairs", type=int, default=5)
    wanted = parser.parse_args(arguments)
    with pg.server() as server, tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        pg.make_big_table(server, wanted.rows)
        make_targets(server, home, wanted.rows)
        ways = {
            "psql": partial(read_both, server),
            "equal": lambda: compare(home, pg.BIG_TABLE, 0)[0],
            "three rows differ": lambda: compare(home, "changed", 3)[0],
        }
        seconds = pairs.interleave(ways, wanted.pairs)
        pairs.report("reconcile", seconds, base="psql", rows=wanted.rows)
        pairs.verdict_of_pairs(seconds, "equal", "psql", SPEED_BAR, "reconcile")
        _, whole = compare(home, "changed", 3)
        _, tenth = compare(home, pg.BIG_TABLE, 0, "--where", f"id <= {wanted.rows // 10}")
        pairs.verdict(
            f"reconcile: peak memory ({whole >> 10} MB), 10 x the rows", whole / tenth, MEMORY_BAR, at_most=True
        )


if __name__ == "__main__":
    main()
