"""How soon a job begins that is started over HTTP: in a warm driver, and in a new one.

    python -m bench.warm_start [--rounds 9] [--cold 3]

A server of its own; the job copies a small table from PostgreSQL to PostgreSQL. The clock runs from the request until
the first row is in the target, and until the server shows the run as done. Bars: issue 26, bar 9.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from bench import ours, pairs, pg
from e2e.server.running import client, server
from seatunnel_py.web.server_metrics import CACHED_SECONDS
from tests.servers.postgres import PostgresServer

FIRST_ROW_BAR_S, DONE_BAR_S = 0.5, 1.0
WAIT_SECONDS = 120.0
LOOK_SECONDS = 0.01
READY = re.compile(r"^seatunnel_warm_drivers (\S+)$", re.MULTILINE)


@contextmanager
def served(folder: Path, warm: int) -> Iterator[httpx.Client]:
    """A client of a server that keeps so many warm drivers."""
    folder.mkdir()
    with server(folder, warm=warm) as (_, url), client(url, folder) as found:
        yield found


def until(condition: Callable[[], Any]) -> float:
    """Wait for it; the moment at which it was true."""
    deadline = time.perf_counter() + WAIT_SECONDS
    while not condition():
        if time.perf_counter() > deadline:
            raise AssertionError("nothing happened in time")
        time.sleep(LOOK_SECONDS)
    return time.perf_counter()


def measure(database: PostgresServer, table: str, http: httpx.Client, warm: int) -> tuple[float, float]:
    """Seconds until the first row, and until the run is done."""
    pg.drop_targets(database)
    pg.make_target(database, table, keyed=True)
    pg.checkpoint(database)
    time.sleep(CACHED_SECONDS + 0.1)  # the metrics may be that old
    until(lambda: float(READY.findall(http.get("/metrics").text)[0]) >= warm)
    with pg.connect(database) as db:
        began = time.perf_counter()
        run = http.post("/api/v1/definitions/small/runs", json={}).raise_for_status().json()["job_id"]
        first = until(lambda: db.execute(f"SELECT 1 FROM {pg.TARGET}.{table} LIMIT 1".encode()).fetchone())
        done = until(lambda: _state(http, run) not in ("", "RUNNING", "STARTING"))
    if _state(http, run) != "SUCCESS":
        raise AssertionError(http.get(f"/api/v1/runs/{run}").text)
    pg.expect_copied(database, pg.SMALL_ROWS, table)
    return first - began, done - began


def _state(http: httpx.Client, run: str) -> str:
    found = http.get(f"/api/v1/runs/{run}")
    return str(found.json().get("state", "")) if found.is_success else ""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.warm_start", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--cold", type=int, default=3)
    given = parser.parse_args(arguments)
    found: dict[str, list[float]] = {}
    with pg.server() as database, tempfile.TemporaryDirectory() as folder:
        (table,) = pg.make_small_tables(database, 1)
        text = ours.table_job(database, table)
        for name, warm, rounds in (("new", 0, given.cold), ("warm", 1, given.rounds)):
            with served(Path(folder) / name, warm) as http:
                http.post("/api/v1/definitions", json={"id": "small", "text": text}).raise_for_status()
                for number in range(rounds + 1):
                    first, done = measure(database, table, http, warm)
                    if number:  # the first one makes the archive of classes, and the record of modules
                        found.setdefault(f"{name}, first row", []).append(first)
                        found.setdefault(f"{name}, done", []).append(done)
    for name, taken in found.items():
        print(f"{name:16} median {median(taken):6.2f} s   {min(taken):.2f} - {max(taken):.2f}")
    print(json.dumps({"benchmark": "warm_start", "seconds": found}))
    pairs.verdict("warm, first row", median(found["warm, first row"]), FIRST_ROW_BAR_S, at_most=True)
    pairs.verdict("warm, done", median(found["warm, done"]), DONE_BAR_S, at_most=True)


if __name__ == "__main__":
    main()
