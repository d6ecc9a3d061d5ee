"""The curve of run time against the checkpoint interval: none, asynchronous (ours), stop-the-world.

    python -m bench.checkpoint_curve [--rows 6000000] [--rounds 5] [--intervals 0.25,0.5,1,2,5,10]
                                     [--recipe shadow] [--unit-rows 100000] [--draw docs/checkpoint-cost.svg]

One table, exactly-once, by the public command; "none" has one checkpoint, at the end. In the third way no unit begins
from a checkpoint's trigger until its last commit is confirmed (`bench.stop_the_world`). Splits are small, so that a
barrier, which passes between units, can keep to the shortest interval. Prints medians and draws them.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

from bench import ours, pairs, pg, plot
from bench.checkpoint_cost import BAR, NEVER_MS, RECIPES, Counts, checkpoints_of
from tests.servers.postgres import PostgresServer

NONE, OURS, STANDING = "none", "asynchronous", "stop-the-world"
PICTURE = ours.ROOT / "docs" / "checkpoint-cost.svg"
BAR_INTERVAL_S = 1.0


def job(server: PostgresServer, interval_ms: int, recipe: str, unit_rows: int) -> str:
    return ours.table_job(
        server,
        env=f"checkpoint.interval = {interval_ms}",
        source=f"split.size = {unit_rows}",
        sink=f'schema_save_mode = "RECREATE_SCHEMA", {RECIPES[recipe]}',
    )


def measure(
    server: PostgresServer, place: Path, rows: int, text: str, taken: list[float], command: Sequence[str] = ours.PLAIN
) -> float:
    pg.drop_targets(server)
    pg.checkpoint(server)
    run = ours.run(text, place, command=command)
    pg.expect_copied(server, rows)
    taken.append(checkpoints_of(server))
    return run.data_seconds


def named(way: str, interval: float) -> str:
    return f"{way}, {interval:g} s"


def draw(seconds: pairs.Seconds, intervals: Sequence[float], rows: int, rounds: int) -> str:
    medians = {name: median(taken) for name, taken in seconds.items()}
    series = {NONE: [(interval, medians[NONE]) for interval in intervals]}
    for way in (OURS, STANDING):
        series[way] = [(interval, medians[named(way, interval)]) for interval in intervals]
    note = f"{rows:,} rows from PostgreSQL to PostgreSQL, exactly-once; medians of {rounds} interleaved rounds"
    return plot.svg("Run time against the checkpoint interval", "seconds between checkpoints", "seconds", series, note)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.checkpoint_curve", description=__doc__)
    parser.add_argument("--rows", type=int, default=2 * pg.ROWS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--intervals", default="0.25,0.5,1,2,5,10", help="seconds, divided by commas")
    parser.add_argument("--recipe", choices=sorted(RECIPES), default="shadow")
    parser.add_argument("--unit-rows", type=int, default=100_000)
    parser.add_argument("--draw", type=Path, default=PICTURE, metavar="FILE")
    wanted = parser.parse_args(arguments)
    intervals = sorted(float(each) for each in wanted.intervals.split(","))
    taken: Counts = {}
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(pg.server())
        place = stack.enter_context(ours.home())
        pg.make_big_table(server, wanted.rows)

        def way(name: str, interval_ms: int, command: Sequence[str] = ours.PLAIN) -> None:
            text = job(server, interval_ms, wanted.recipe, wanted.unit_rows)
            ways[name] = partial(measure, server, place, wanted.rows, text, taken.setdefault(name, []), command)

        ways: dict[str, pairs.Way] = {}
        way(NONE, NEVER_MS)
        for interval in intervals:
            way(named(OURS, interval), round(interval * 1000))
            way(named(STANDING, interval), round(interval * 1000), ours.STANDING)
        seconds = pairs.interleave(ways, wanted.rounds)
    pairs.report("checkpoint interval", seconds, base=NONE, rows=wanted.rows)
    print("checkpoints in a run:", ", ".join(f"{name} {median(counts):g}" for name, counts in taken.items()))
    wanted.draw.write_text(draw(seconds, intervals, wanted.rows, wanted.rounds))
    print(f"drawn: {wanted.draw}")
    if BAR_INTERVAL_S in intervals:
        pairs.verdict_of_pairs(seconds, named(OURS, BAR_INTERVAL_S), NONE, BAR, "issue 5, bar 6: every second / none")


if __name__ == "__main__":
    main()
