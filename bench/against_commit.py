"""The present tree against an older commit: a big table, many small ones, start, and the time until rows come again
after a fault; each a ratio of speed, pair by pair. With ``--only log``: PostgreSQL's log into a keyed table.

    python -m bench.against_commit COMMIT [--pairs 7] [--rows 3000000] [--tables 200] [--only one,tables,start,failover]
                                          [--log-rows 500000]

The older commit is checked out and installed under `.cache/commits/`, with the packages that it locked. Both sides run
the same job files by their public command lines, in turn, on one server.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bench import failover, log_to_table, ours, pairs, pg, start, tables_200
from bench.pg_log import KINDS
from bench.pg_to_pg import Bench
from tests.servers.commits import compiled, installed
from tests.servers.postgres import PostgresServer

BAR = 0.97
RATE, FAULTS = 2_500, 8
NOW, BEFORE = "now", "before"
Sides = Mapping[str, Sequence[str]]
Measure = Callable[[Path, Sequence[str]], Mapping[str, float]]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.against_commit", description=__doc__)
    parser.add_argument("commit")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--rows", type=int, default=pg.ROWS, help="rows of the big table")
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--log-rows", type=int, default=500_000, help="changes of the log, of each kind")
    parser.add_argument("--only", default="one,tables,start,failover", help="parts, divided by commas")
    wanted = parser.parse_args(arguments)
    compiled(ours.ROOT)
    sides = {NOW: ours.PLAIN, BEFORE: (str(installed(wanted.commit) / "seatunnel"),)}
    with contextlib.ExitStack() as stack:
        parts = wanted.only.split(",")
        times = {"track_commit_timestamp": "on"} if "failover" in parts else {}
        if "log" in parts:
            times |= {"wal_level": "logical", "max_replication_slots": "20"}
        server = stack.enter_context(pg.server(**times))
        places = {side: stack.enter_context(ours.home(command)) for side, command in sides.items()}
        for part in parts:
            for title, figures in MEASURES[part](server, wanted):
                compare(title, figures, sides, places, wanted.pairs)


@contextlib.contextmanager
def _target(server: PostgresServer, mode: str, rows: int) -> Iterator[Bench]:
    bench = Bench(server, rows, mode, Path())
    bench.ready()
    if mode == "shadow":
        pg.drop_targets(server)  # the run creates the target itself
        pg.checkpoint(server)
    yield bench
    bench.done()


def one_table(server: PostgresServer, wanted: argparse.Namespace) -> Iterator[tuple[str, Measure]]:
    pg.make_big_table(server, wanted.rows)
    strict = 'guarantee = "exactly-once"'
    ways = {
        "new target, exactly-once": ("shadow", ours.table_job(server, env=strict)),
        "append, at-least-once": ("append", ours.table_job(server, sink="enable_upsert = false")),
        "append, exactly-once": ("append", ours.table_job(server, env=strict, sink="")),
    }

    def measure(mode: str, job: str, place: Path, command: Sequence[str]) -> dict[str, float]:
        with _target(server, mode, wanted.rows):
            return {"": ours.run(job, place, command=command).data_seconds}

    yield from ((title, functools.partial(measure, *way)) for title, way in ways.items())


def many_tables(server: PostgresServer, wanted: argparse.Namespace) -> Iterator[tuple[str, Measure]]:
    names = pg.make_small_tables(server, wanted.tables)

    def measure(env: str, place: Path, command: Sequence[str]) -> dict[str, float]:
        result = tables_200.run_ours(server, names, place, env, command)
        # The first unit may begin while other tables are still planned: the earlier it does, the longer the data takes.
        until_committed = result.receipt["seconds"]["start"] + result.data_seconds
        return {"until all rows are committed": until_committed, "whole command": result.wall_seconds}

    ways = {"": "", ", exactly-once": tables_200.EXACTLY_ONCE}
    for words, env in ways.items():
        yield f"{wanted.tables} tables{words}", functools.partial(measure, env)


def starts(server: PostgresServer, wanted: argparse.Namespace) -> Iterator[tuple[str, Measure]]:
    table = "small"
    pg.make_big_table(server, pg.SMALL_ROWS, table)
    yield "start", lambda place, command: start.measure(server, table, place, command)


def faults(server: PostgresServer, wanted: argparse.Namespace) -> Iterator[tuple[str, Measure]]:
    def measure(kind: str, place: Path, command: Sequence[str]) -> dict[str, float]:
        found = failover.one(server, place, RATE, kind, FAULTS, command=command)
        return {kind: statistics.median(found.recoveries)}

    yield (
        "rows again after",
        lambda place, command: measure("error", place, command) | measure("worker", place, command),
    )


def logs(server: PostgresServer, wanted: argparse.Namespace) -> Iterator[tuple[str, Measure]]:
    log_to_table.make_tables(server)

    def measure(drain: log_to_table.Drain, place: Path, command: Sequence[str]) -> dict[str, float]:
        seconds, used = drain.ours_with_cpu(place, command)
        return {"until the last change": seconds, "processor seconds of the workers": used}

    for kind in KINDS:  # one after the other: the target is compared with the source as it is
        drain = log_to_table.Drain(server, kind, wanted.log_rows, "direct")
        yield f"log, {kind}", functools.partial(measure, drain)


MEASURES: Mapping[str, Callable[[PostgresServer, argparse.Namespace], Iterator[tuple[str, Measure]]]] = {
    "one": one_table,
    "tables": many_tables,
    "start": starts,
    "failover": faults,
    "log": logs,
}


def compare(title: str, measure: Measure, sides: Sides, places: Mapping[str, Path], rounds: int) -> None:
    """Both sides in turn, the first one another each round; a table and a verdict for each figure."""
    found: dict[str, dict[str, list[float]]] = {}
    for number in range(rounds):
        for side in (NOW, BEFORE) if number % 2 else (BEFORE, NOW):
            for figure, seconds in measure(places[side], sides[side]).items():
                found.setdefault(figure, {NOW: [], BEFORE: []})[side].append(seconds)
    for figure, seconds in found.items():
        name = f"{title}: {figure}".removesuffix(": ")
        pairs.report(name, seconds, base=BEFORE)
        pairs.verdict_of_pairs(seconds, NOW, BEFORE, BAR, name)


if __name__ == "__main__":
    main()
