"""What checkpoints cost: a checkpoint every second against the same recipe with one final checkpoint.

    python -m bench.checkpoint_cost [--rows 6000000] [--tables 200] [--table-rows 10000] [--pairs 11]
                                    [--recipes shadow,direct,staged] [--only big,tables]

One big table, and many tables in one job, each read in several units so that every second most of them have something
new to store. Seconds are those from the first unit to the last commit. The interval is all that the two ways differ by:
what follows from it, such as shorter units, is part of its price. Both print how many checkpoints a table had.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import mean

from bench import ours, pairs, pg
from bench.tables_200 import expect_all
from tests.servers.postgres import PostgresServer

BAR = 0.97
# One checkpoint: at the end. A batch job without an interval takes some that nobody sees, for its restart.
NEVER_MS = 3_600_000
EVERY, ONCE = "every second", "at the end"
INTERVALS_MS = {EVERY: 1000, ONCE: NEVER_MS}
UNITS_OF_A_TABLE = 8
RECIPES = {
    "shadow": "is_exactly_once = true",
    "direct": "is_exactly_once = true, exactly_once_recipe = direct",
    "staged": "is_exactly_once = true, exactly_once_recipe = staged",
}
Counts = dict[str, list[float]]


def checkpoints_of(server: PostgresServer) -> float:
    """How many checkpoints a table of the run before had, which its ledger says; the first is that before any data."""
    with pg.connect(server) as db:
        found = db.execute(f"SELECT last_checkpoint FROM {pg.TARGET}.seatunnel_ledger").fetchall()
    return mean(int(str(row[0])) - 1 for row in found)


def big_table(
    server: PostgresServer, place: Path, rows: int, recipe: str, interval: int, checkpoints: list[float]
) -> float:
    pg.drop_targets(server)
    pg.checkpoint(server)
    sink = f'schema_save_mode = "RECREATE_SCHEMA", {RECIPES[recipe]}'
    run = ours.run(ours.table_job(server, env=f"checkpoint.interval = {interval}", sink=sink), place)
    pg.expect_copied(server, rows)
    checkpoints.append(checkpoints_of(server))
    return run.data_seconds


def many_tables(
    server: PostgresServer,
    place: Path,
    names: Sequence[str],
    rows: int,
    recipe: str,
    interval: int,
    checkpoints: list[float],
) -> float:
    pg.set_targets_aside(server)
    pg.checkpoint(server)
    source = f"split.size = {max(1, rows // UNITS_OF_A_TABLE)}"
    env = f"checkpoint.interval = {interval}"
    run = ours.run(ours.tables_job(server, names, env=env, source=source, sink=RECIPES[recipe]), place)
    expect_all(server, names, rows)
    checkpoints.append(checkpoints_of(server))
    return run.data_seconds


def compare(title: str, ways: dict[str, pairs.Way], rounds: int, rows: int, checkpoints: Counts) -> bool:
    seconds = pairs.interleave(ways, rounds)
    pairs.report(title, seconds, base=ONCE, rows=rows)
    print("checkpoints of a table:", ", ".join(f"{name} {mean(counts):.1f}" for name, counts in checkpoints.items()))
    return pairs.verdict_of_pairs(seconds, EVERY, ONCE, BAR, f"issue 5, bar 6, {title}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.checkpoint_cost", description=__doc__)
    parser.add_argument("--rows", type=int, default=2 * pg.ROWS)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--table-rows", type=int, default=10 * pg.SMALL_ROWS)
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--recipes", default=",".join(RECIPES))
    parser.add_argument("--only", default="big,tables")
    wanted = parser.parse_args(arguments)
    recipes = wanted.recipes.split(",")
    if unknown := set(recipes) - set(RECIPES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(RECIPES)}")
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(pg.server())
        place = stack.enter_context(ours.home())
        if "big" in wanted.only:
            pg.make_big_table(server, wanted.rows)
            for recipe in recipes:
                counts: Counts = {name: [] for name in INTERVALS_MS}
                ways: dict[str, pairs.Way] = {
                    name: partial(big_table, server, place, wanted.rows, recipe, interval, counts[name])
                    for name, interval in INTERVALS_MS.items()
                }
                compare(f"one table, {recipe}", ways, wanted.pairs, wanted.rows, counts)
        if "tables" in wanted.only:
            rows = wanted.table_rows
            names = pg.make_small_tables(server, wanted.tables, rows)
            for recipe in recipes:
                if recipe == "shadow":
                    continue  # so small a table is written in place
                counts = {name: [] for name in INTERVALS_MS}
                ways = {
                    name: partial(many_tables, server, place, names, rows, recipe, interval, counts[name])
                    for name, interval in INTERVALS_MS.items()
                }
                compare(f"{wanted.tables} tables, {recipe}", ways, wanted.pairs, wanted.tables * rows, counts)


if __name__ == "__main__":
    main()
