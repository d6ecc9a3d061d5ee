"""The reference: parallel binary `COPY TO STDOUT | COPY FROM STDIN` pipes with psql, split by key halves.

python -m bench.pipes [--rows 3000000] [--pairs 3]
"""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Sequence

from bench import pairs, pg
from tests.servers.postgres import PostgresServer, find

PIPES = 2


def key_ranges(first: int, last: int, parts: int) -> list[tuple[int, int]]:
    """Half-open ranges that cover first..last."""
    step = -(-(last - first + 1) // parts)
    return [(low, min(low + step, last + 1)) for low in range(first, last + 1, step)]


def run_pipes(pipes: Sequence[tuple[Sequence[str], Sequence[str]]]) -> float:
    """Readers into writers, all at once; the seconds from the first start to the last commit."""
    started = time.perf_counter()
    processes = []
    for reading, writing in pipes:
        reader = subprocess.Popen(reading, stdout=subprocess.PIPE)
        writer = subprocess.Popen(writing, stdin=reader.stdout)
        assert reader.stdout is not None
        reader.stdout.close()  # the writer holds the only reading end: it sees the end of the data
        processes += [reader, writer]
    codes = [process.wait() for process in processes]
    seconds = time.perf_counter() - started
    if any(codes):
        raise RuntimeError(f"a pipe failed: exit codes {codes}")
    return seconds


def psql(server: PostgresServer, statement: str) -> list[str]:
    return [str(find("psql")), "-X", "-q", "-v", "ON_ERROR_STOP=1", server.dsn, "-c", statement]


def copy_by_pipes(server: PostgresServer, rows: int, *, table: str = pg.BIG_TABLE) -> float:
    """Copy source to target through the pipes and return the seconds."""
    pipes = []
    for low, high in key_ranges(1, rows, PIPES):
        query = f"SELECT * FROM {pg.SOURCE}.{table} WHERE id >= {low} AND id < {high}"
        reading = psql(server, f"COPY ({query}) TO STDOUT (FORMAT binary)")
        pipes.append((reading, psql(server, f"COPY {pg.TARGET}.{table} FROM STDIN (FORMAT binary)")))
    return run_pipes(pipes)


def measure_pipes(server: PostgresServer, rows: int, *, keyed: bool) -> float:
    """One measurement into a new table, which is counted afterwards."""
    pg.make_target(server, keyed=keyed)
    pg.checkpoint(server)
    seconds = copy_by_pipes(server, rows)
    pg.expect_copied(server, rows)
    return seconds


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.pipes", description=__doc__)
    parser.add_argument("--rows", type=int, default=pg.ROWS)
    parser.add_argument("--pairs", type=int, default=3)
    wanted = parser.parse_args(arguments)
    with pg.server() as server:
        pg.make_big_table(server, wanted.rows)
        ways = {
            "pipes keyed": lambda: measure_pipes(server, wanted.rows, keyed=True),
            "pipes unkeyed": lambda: measure_pipes(server, wanted.rows, keyed=False),
        }
        pairs.report("pipes", pairs.interleave(ways, wanted.pairs), base="pipes keyed", rows=wanted.rows)


if __name__ == "__main__":
    main()
