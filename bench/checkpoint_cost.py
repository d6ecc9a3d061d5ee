"""What checkpoints cost: a checkpoint every second against the same recipe with one final checkpoint.

    python -m bench.checkpoint_cost [--rows 3000000] [--tables 200] [--pairs 11] [--recipes shadow,direct,staged]
                                    [--only big,tables]

One big table, and many tables in one job; seconds are those from the first unit to the last commit. Both ways have
units of the same size: what is compared is checkpoints, not units.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench import ours, pairs, pg
from bench.tables_200 import expect_all
from tests.servers.postgres import PostgresServer

BAR = 0.97
# One checkpoint: at the end. A batch job without an interval takes some that nobody sees, for its restart.
INTERVALS_MS = {"every second": 1000, "at the end": 3_600_000}
UNITS = "unit.seconds = 0.25"
RECIPES = {
    "shadow": "is_exactly_once = true",
    "direct": "is_exactly_once = true, exactly_once_recipe = direct",
    "staged": "is_exactly_once = true, exactly_once_recipe = staged",
}


def env_of(interval: int) -> str:
    return f"checkpoint.interval = {interval}, {UNITS}"


def big_table(server: PostgresServer, place: Path, rows: int, recipe: str, interval: int) -> float:
    pg.drop_targets(server)
    pg.checkpoint(server)
    sink = f'schema_save_mode = "RECREATE_SCHEMA", {RECIPES[recipe]}'
    run = ours.run(ours.table_job(server, env=env_of(interval), sink=sink), place)
    pg.expect_copied(server, rows)
    return run.data_seconds


def many_tables(server: PostgresServer, place: Path, names: Sequence[str], recipe: str, interval: int) -> float:
    pg.drop_targets(server)
    pg.checkpoint(server)
    run = ours.run(ours.tables_job(server, names, env=env_of(interval), sink=RECIPES[recipe]), place)
    expect_all(server, names)
    return run.data_seconds


def compare(title: str, ways: dict[str, pairs.Way], rounds: int, rows: int) -> bool:
    seconds = pairs.interleave(ways, rounds)
    pairs.report(title, seconds, base="at the end", rows=rows)
    return pairs.verdict_of_pairs(seconds, "every second", "at the end", BAR)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.checkpoint_cost", description=__doc__)
    parser.add_argument("--rows", type=int, default=pg.ROWS)
    parser.add_argument("--tables", type=int, default=200)
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
                ways: dict[str, pairs.Way] = {
                    name: partial(big_table, server, place, wanted.rows, recipe, interval)
                    for name, interval in INTERVALS_MS.items()
                }
                compare(f"one table, {recipe}", ways, wanted.pairs, wanted.rows)
        if "tables" in wanted.only:
            names = pg.make_small_tables(server, wanted.tables)
            for recipe in recipes:
                if recipe == "shadow":
                    continue  # tables of one unit are written in one transaction
                ways = {
                    name: partial(many_tables, server, place, names, recipe, interval)
                    for name, interval in INTERVALS_MS.items()
                }
                compare(f"{wanted.tables} tables, {recipe}", ways, wanted.pairs, wanted.tables * pg.SMALL_ROWS)


if __name__ == "__main__":
    main()
