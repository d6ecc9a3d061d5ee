"""Many writers while tables are copied, then large transactions and changes of schemas; nothing is killed.

    python -m e2e.cdc_sweep.seeds [--short] [--seeds 50] [--only TEXT] [--large 1000000]

Each seed runs once by each recipe (issue 25, bar 2). In the end every row of a target by key is equal, a wide table of
all types included; a target that appends has the history of every key. Counts balance, and nothing is left behind.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack
from functools import partial
from random import Random

from e2e.cdc.following_job import is_followed
from e2e.cdc_sweep.cases import ALTER, OF_RECIPE, TRUNCATE, Case
from e2e.cdc_sweep.jobs import MAKERS, FollowingJob
from e2e.cdc_sweep.runner import EQUAL_SECONDS, Run, run
from e2e.cdc_sweep.targets import ChangeLog
from e2e.crash_sweep.lanes import Sweep
from e2e.crash_sweep.place import Lane
from e2e.support import wait_for

RECIPES = (*OF_RECIPE, "postgres to mariadb", "mariadb to files", "postgres to kafka", "mariadb to kafka")
SHORT = ("postgres to mariadb", "mariadb to files", "postgres two-phase")
LARGE_SHORT = 2_000
WRITERS = 20
COPY_SECONDS, COPY_SECONDS_SHORT = 3.0, 0.5
LARGE_IDS = 10_000_000
WIDEN = {
    "postgres": "ALTER TABLE orders ALTER COLUMN seq TYPE bigint",
    "mariadb": "ALTER TABLE orders MODIFY seq bigint",
}
"""A statement that writes rows anew comes before added columns: PostgreSQL forgets what those held in earlier rows."""
LARGE = {
    "postgres": "INSERT INTO {table} (id, source, seq, note) SELECT {ids} + i, 'large', i, 'x' "
    "FROM generate_series(1, {rows}) i",
    "mariadb": "INSERT INTO {table} (id, source, seq, note) SELECT {ids} + seq, 'large', seq, 'x' FROM seq_1_to_{rows}",
}
LAST = "INSERT INTO orders (id, source, seq, note) VALUES (9000000, 'last', 1, 'x')"
"""The log of PostgreSQL says only with a row that the columns of its table are others now."""


class SeededRun(Run):
    """``large``: rows of the large transaction, which some of the seeds have. ``seconds``: how long many write."""

    def __init__(self, case: Case, job: FollowingJob, lane: Lane, large: int, seconds: float = COPY_SECONDS) -> None:
        super().__init__(case, job, lane)
        self.large, self.seconds = large, seconds

    def through(self) -> None:
        seed, database = self.case.seed, self.case.recipe.partition(" ")[0]
        random = Random(f"{self.case.recipe} {seed}")
        self.process = self.started()
        with ExitStack() as writers:
            if self.job.wide is not None:
                writers.enter_context(self.job.wide.writer(seed))
            for number in range(WRITERS):
                writers.enter_context(self.job.source.workload(1_000 * seed + number))
            time.sleep(self.seconds)
        statements = [WIDEN[database], ALTER.format(1, 1), ALTER.format(2, 2)]
        others = [LARGE[database].format(table="orders", ids=LARGE_IDS, rows=random.choice((1, 1_000, self.large)))]
        for other in others if self.job.appends else [*others, TRUNCATE]:
            statements.insert(random.randint(0, len(statements)), other)
        self._all_is_followed()
        with ExitStack() as writers:
            if self.job.wide is not None:
                writers.enter_context(self.job.wide.writer(seed + 1))
            writers.enter_context(self.job.source.workload(1_000 * seed + WRITERS))
            for statement in statements:
                self.job.source.run(statement)
                time.sleep(random.choice((0.0, 0.2, 1.0)))
        self.job.source.run(LAST)
        self.ended()

    def _all_is_followed(self) -> None:
        """Wait for the end of the copy: no later step may lack in a target that keeps them all."""
        target = self.job.target
        if isinstance(target, ChangeLog):
            wait_for("the copy", lambda: is_followed(self.job.home), EQUAL_SECONDS)
            target.since = self.job.source.last_noted()


def short_form() -> list[Case]:
    """A seed for each of three recipes."""
    return [Case(recipe, seed, ()) for seed, recipe in enumerate(SHORT, 1)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m e2e.cdc_sweep.seeds", description=__doc__)
    parser.add_argument("--short", action="store_true", help="three seeds, each by one recipe, small transactions")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--start", type=int, default=1, help="the first seed")
    parser.add_argument("--only", default="", help="only recipes whose name holds this text")
    parser.add_argument("--large", type=int, default=1_000_000, help="rows of the large transaction")
    parser.add_argument("--jobs", type=int, default=2, help="how many cases run at a time (2)")
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no case after so long")
    given = parser.parse_args()
    seeds = range(given.start, given.start + given.seeds)
    cases = short_form() if given.short else [Case(recipe, seed, ()) for seed in seeds for recipe in RECIPES]
    short = partial(SeededRun, large=LARGE_SHORT, seconds=COPY_SECONDS_SHORT)
    make = short if given.short else partial(SeededRun, large=given.large)
    chosen = [case for case in cases if given.only in case.recipe]
    sweep = Sweep(chosen, partial(run, make=make, wide=True), None, given.minutes, partial(Lane, MAKERS))
    held = sweep.run(given.jobs)
    for recipe in dict.fromkeys(case.recipe for case in chosen):
        of = [one for one in sweep.outcomes if one.recipe == recipe]
        print(f"{recipe}: {len(of)} seeds, {sum(bool(one.violations) for one in of)} violated")
    if not given.short:
        met = held and len(sweep.outcomes) == len(chosen)
        print(f"bar: {given.seeds} seeds by each recipe, no violation: {'MET' if met else 'NOT REACHED'}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
