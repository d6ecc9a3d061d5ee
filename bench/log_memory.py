"""Whether memory stays flat while a large transaction of PostgreSQL's log is followed into a keyed table.

python -m bench.log_memory [--rows 50000] [--factor 100]

The peaks for one transaction of so many rows, and for one of a hundred times as many: of the largest Python worker,
which reads and writes the rows, and of all processes together. The bar holds for both.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import psycopg

from bench import ours, pairs, pg
from bench.log_to_table import COPIES, MARK, await_mark, drop_slot, job_of, make_tables
from bench.memory import BAR, Watch, show
from bench.pg_log import TABLE
from tests.servers.postgres import PostgresServer
from tests.servers.process_tree import kill_tree

SLOT = "large"


def measure(server: PostgresServer, rows: int, place: Path) -> Watch:
    """Follow one transaction of so many rows."""
    with pg.connect(server) as db, psycopg.connect(server.dsn_of(COPIES), autocommit=True) as copies:
        for one in (db, copies):
            one.execute(f"TRUNCATE {TABLE}".encode())
        db.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [SLOT])
        db.execute(f"INSERT INTO {TABLE} {pg.ROWS_QUERY.format(first=1, last=rows)}".encode())
        db.execute(f"INSERT INTO {TABLE} {pg.ROWS_QUERY.format(first=MARK, last=MARK)}".encode())
    home = place / f"home{rows}"
    process = ours.begin(job_of(server, SLOT), place, home)
    watch = Watch()
    watching = threading.Thread(target=watch, args=(process.pid,))
    watching.start()
    try:
        await_mark(server, lambda: process.poll() is None)
        expect_rows(server, rows + 1)
    finally:
        kill_tree(process)
        watching.join()
    ours.until_gone(home)
    drop_slot(server, SLOT)
    return watch


def expect_rows(server: PostgresServer, rows: int) -> None:
    """A measurement that lost rows is worth nothing."""
    with psycopg.connect(server.dsn_of(COPIES)) as db:
        found = db.execute(f"SELECT count(*) FROM {TABLE}".encode()).fetchone()
    if found != (rows,):
        raise AssertionError(f"the target has {found} instead of {rows} rows")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.log_memory", description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--factor", type=int, default=100)
    wanted = parser.parse_args(arguments)
    with pg.server(wal_level="logical") as server, ours.home() as place:
        make_tables(server)
        found = [show(rows, measure(server, rows, place)) for rows in (wanted.rows, wanted.rows * wanted.factor)]
    print(json.dumps({"benchmark": "log memory", "runs": found}))
    few, many = found
    met = [
        pairs.verdict(name, many[figure] / few[figure], BAR, at_most=True)
        for name, figure in (("largest worker's peak", "largest_worker_mib"), ("all processes' peaks", "all_mib"))
    ]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
