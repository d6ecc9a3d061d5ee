"""Many small tables in one job, all created by it: ours against SeaTunnel, and whether a table's time grows.

    python -m bench.tables_200 [--tables 200] [--pairs 7] [--peer] [--grow 1000] [--limit]

"ours" runs twice, as it is and with `guarantee = exactly-once`; each has a bar. `--limit` also measures what the server
itself needs: two bare sessions, each table its own transactions; and in as little work as can be thought of
("limit, grouped"), which no job could do whose tables fail alone.
The start of the engine is taken off both sides. SeaTunnel's seconds are without it by themselves. Ours are the
clock round the command, less what the command of one table takes beyond its data (the mean of one before and one
behind it, for a start is as uneven as all the rest): so reading the schemas of all tables stays in.
"peer" runs as ours does, each round in an engine that has just started: bars are judged against it. "peer, warm" is one
engine for all rounds, whose compiler knows the job already: nothing of ours does. It is told beside.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import mean, median

import psycopg

from bench import ours, pairs, pg
from bench.peer import jobs
from bench.peer.engine import PeerEngine
from tests.servers.postgres import PostgresServer

EXACTLY_ONCE = 'guarantee = "exactly-once"'
BARS = {"ours": ("issue 3, bar 5", 8.0), "ours, exactly-once": ("issue 5, bar 7, many tables", 5.0)}
TABLES_OF_A_GROUP = 20  # in one transaction
# What a table of the large job may take in relation to one of the small job.
GROWTH_BAR = 1.2


def run_ours(
    server: PostgresServer, names: Sequence[str], place: Path, env: str = "", command: Sequence[str] = ours.PLAIN
) -> ours.Run:
    """One run over these tables; every row is counted in the target."""
    pg.set_targets_aside(server)
    pg.checkpoint(server)
    result = ours.run(ours.tables_job(server, names, env=env), place, command=command)
    expect_all(server, names)
    return result


def run_peer_anew(server: PostgresServer, names: Sequence[str]) -> float:
    with PeerEngine() as engine:
        return run_peer(server, names, engine)


def run_peer(server: PostgresServer, names: Sequence[str], engine: PeerEngine) -> float:
    pg.set_targets_aside(server)
    pg.checkpoint(server)
    result = engine.run(jobs.many_tables(server, names))
    expect_all(server, names)
    return result.seconds


def run_limit(server: PostgresServer, names: Sequence[str], copy: Callable[[str, Sequence[str]], None]) -> float:
    """What the server itself needs: two sessions that only create each table with its key and copy its rows."""
    pg.set_targets_aside(server)
    pg.checkpoint(server)
    seconds = pairs.at_a_time(partial(copy, server.dsn), (names[::2], names[1::2]))
    expect_all(server, names)
    return seconds


def create_and_copy(dsn: str, names: Sequence[str]) -> None:
    """The plain way: a table is created, then filled, each in a transaction of its own."""
    with psycopg.connect(dsn, autocommit=True) as db:
        for name in names:
            db.execute(f"CREATE TABLE {pg.TARGET}.{name} (LIKE {pg.SOURCE}.{name} INCLUDING INDEXES)".encode())
            copy_rows(db, name)


def create_and_copy_in_groups(dsn: str, names: Sequence[str]) -> None:
    """One session creates and fills, so that it knows its tables; keys last; one commit for many tables."""
    columns = pg.COLUMNS.format(key="")
    with psycopg.connect(dsn, autocommit=True) as db:
        for first in range(0, len(names), TABLES_OF_A_GROUP):
            with db.transaction():
                for name in names[first : first + TABLES_OF_A_GROUP]:
                    db.execute(f"CREATE TABLE {pg.TARGET}.{name} ({columns})".encode())
                    copy_rows(db, name)
                    db.execute(f"ALTER TABLE {pg.TARGET}.{name} ADD PRIMARY KEY (id)".encode())


def copy_rows(db: psycopg.Connection[tuple[object, ...]], name: str) -> None:
    with db.cursor() as cursor:
        with cursor.copy(f"COPY {pg.SOURCE}.{name} TO STDOUT (FORMAT binary)".encode()) as reading:
            rows = b"".join(reading)
        with cursor.copy(f"COPY {pg.TARGET}.{name} FROM STDIN (FORMAT binary)".encode()) as writing:
            writing.write(rows)


def expect_all(server: PostgresServer, names: Sequence[str], rows: int = pg.SMALL_ROWS) -> None:
    with pg.connect(server) as db:
        for name in names:
            row = db.execute(f"SELECT count(*) FROM {pg.TARGET}.{name}").fetchone()
            if row is None or row[0] != rows:
                raise AssertionError(f"{pg.TARGET}.{name} holds {row} rows instead of {rows}")


def start_of(one: ours.Run) -> float:
    """Seconds of a start: what the run of one table takes beyond its data."""
    return one.wall_seconds - one.data_seconds


def compare(
    server: PostgresServer, names: Sequence[str], place: Path, engine: PeerEngine | None, rounds: int, *, limit: bool
) -> pairs.Seconds:
    data: list[float] = []

    def way(env: str) -> float:
        before, many, behind = (run_ours(server, some, place, env) for some in (names[:1], names, names[:1]))
        if env:
            data.append(many.data_seconds)
        return many.wall_seconds - mean((start_of(before), start_of(behind)))

    ways: dict[str, pairs.Way] = {"ours": lambda: way(""), "ours, exactly-once": lambda: way(EXACTLY_ONCE)}
    if limit:
        ways["limit"] = lambda: run_limit(server, names, create_and_copy)
        ways["limit, grouped"] = lambda: run_limit(server, names, create_and_copy_in_groups)
    if engine is not None:
        ways["peer"] = lambda: run_peer_anew(server, names)
        ways["peer, warm"] = lambda: run_peer(server, names, engine)
    return pairs.interleave(ways, rounds) | {"ours, exactly-once, data only": data}


def growth(server: PostgresServer, names: Sequence[str], few: int, place: Path, rounds: int) -> float:
    """The median of: time per table beyond the first, in a job of all tables and in a job of a few."""
    found = []
    for number in range(1, rounds + 1):
        one, some, all_ = (run_ours(server, names[:count], place) for count in (1, few, len(names)))
        per_table_of_some = (some.wall_seconds - one.wall_seconds) / (few - 1)
        per_table_of_all = (all_.wall_seconds - one.wall_seconds) / (len(names) - 1)
        found.append(per_table_of_all / per_table_of_some)
        print(
            f"  round {number}/{rounds}  1 table {one.wall_seconds:.2f} s, {few} tables {some.wall_seconds:.2f} s, "
            f"{len(names)} tables {all_.wall_seconds:.2f} s; per table {per_table_of_some * 1e3:.1f} ms and "
            f"{per_table_of_all * 1e3:.1f} ms, ratio {found[-1]:.3f}",
            flush=True,
        )
    return median(found)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.tables_200", description=__doc__)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--peer", action="store_true", help="measure SeaTunnel as well")
    parser.add_argument("--limit", action="store_true", help="measure what the server alone needs")
    parser.add_argument("--grow", type=int, metavar="TABLES", help="compare time per table with a job of so many")
    wanted = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(pg.server())
        place = stack.enter_context(ours.home())
        names = pg.make_small_tables(server, max(wanted.tables, wanted.grow or 0))
        if wanted.grow:
            ratio = growth(server, names[: wanted.grow], wanted.tables, place, wanted.pairs)
            name = f"issue 3, bar 5: time per table, {wanted.grow} / {wanted.tables}"
            pairs.verdict(name, ratio, GROWTH_BAR, at_most=True)
            return
        engine = stack.enter_context(PeerEngine()) if wanted.peer else None
        seconds = compare(server, names, place, engine, wanted.pairs, limit=wanted.limit)
    base = "peer" if wanted.peer else "ours"
    pairs.report(f"{wanted.tables} tables", seconds, base=base, rows=wanted.tables * pg.SMALL_ROWS)
    for way, (name, bar) in BARS.items() if wanted.peer else ():
        pairs.verdict_of_pairs(seconds, way, "peer", bar, name)
        warm = pairs.ratios(seconds, way, "peer, warm")
        print(f"{way} / peer, warm: {median(warm):.2f} ({min(warm):.2f} - {max(warm):.2f})")


if __name__ == "__main__":
    main()
