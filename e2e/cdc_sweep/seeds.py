"""Many writers while tables are copied, then large transactions and changes of schemas; nothing is killed.

    python -m e2e.cdc_sweep.seeds [--seeds 50] [--only TEXT] [--large 1000000]

Each seed runs once by each recipe (issue 25, bar 2). In the end every row is compared, and nothing is left behind.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack
from functools import partial
from random import Random

from e2e.cdc_sweep.cases import ALTER, OF_RECIPE, TRUNCATE, Case
from e2e.cdc_sweep.jobs import MAKERS, FollowingJob
from e2e.cdc_sweep.runner import Run, run
from e2e.crash_sweep.lanes import Sweep
from e2e.crash_sweep.place import Lane

WRITERS = 20
COPY_SECONDS = 3.0
LARGE_IDS = 10_000_000
WIDEN = {
    "postgres": "ALTER TABLE orders ALTER COLUMN seq TYPE bigint",
    "mariadb": "ALTER TABLE orders MODIFY seq bigint",
}
LARGE = {
    "postgres": "INSERT INTO {table} (id, source, seq, note) SELECT {ids} + i, 'large', i, 'x' "
    "FROM generate_series(1, {rows}) i",
    "mariadb": "INSERT INTO {table} (id, source, seq, note) SELECT {ids} + seq, 'large', seq, 'x' FROM seq_1_to_{rows}",
}


class SeededRun(Run):
    """``large``: rows of the large transaction, which some of the seeds have."""

    def __init__(self, case: Case, job: FollowingJob, lane: Lane, large: int) -> None:
        super().__init__(case, job, lane)
        self.large = large

    def through(self) -> None:
        seed, database = self.case.seed, self.case.recipe.partition(" ")[0]
        random = Random(f"{self.case.recipe} {seed}")
        self.process = self.started()
        with ExitStack() as writers:
            for number in range(WRITERS):
                writers.enter_context(self.job.workload(1_000 * seed + number))
            time.sleep(COPY_SECONDS)
        statements = [LARGE[database].format(table="orders", ids=LARGE_IDS, rows=random.choice((1, 1_000, self.large)))]
        if "files" not in self.case.recipe:
            statements += [ALTER.format(1, 1), ALTER.format(2, 2), TRUNCATE, WIDEN[database]]
        random.shuffle(statements)
        with self.job.workload(1_000 * seed + WRITERS):
            for statement in statements:
                self.job.change(statement)
                time.sleep(random.choice((0.0, 0.2, 1.0)))
        self.ended()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m e2e.cdc_sweep.seeds", description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--start", type=int, default=1, help="the first seed")
    parser.add_argument("--only", default="", help="only recipes whose name holds this text")
    parser.add_argument("--large", type=int, default=1_000_000, help="rows of the large transaction")
    parser.add_argument("--jobs", type=int, default=2, help="how many cases run at a time (2)")
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no case after so long")
    given = parser.parse_args()
    seeds = range(given.start, given.start + given.seeds)
    cases = [Case(recipe, seed, ()) for seed in seeds for recipe in OF_RECIPE if given.only in recipe]
    sweep = Sweep(
        cases, partial(run, make=partial(SeededRun, large=given.large)), None, given.minutes, partial(Lane, MAKERS)
    )
    held = sweep.run(given.jobs)
    for recipe in OF_RECIPE:
        of = [one for one in sweep.outcomes if one.recipe == recipe]
        print(f"{recipe}: {len(of)} seeds, {sum(bool(one.violations) for one in of)} violated")
    print(f"bar: {given.seeds} seeds by each recipe, no violation: {'MET' if held else 'NOT REACHED'}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
