"""``python -m e2e.cdc_sweep [--short] [--journal FILE] [--only TEXT] [--seed N]``"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from functools import partial
from pathlib import Path

from e2e.cdc_sweep.cases import OF_RECIPE, Victim, long_form, short_form
from e2e.cdc_sweep.jobs import MAKERS
from e2e.cdc_sweep.runner import run
from e2e.crash_sweep.lanes import Sweep
from e2e.crash_sweep.place import Lane

KILLS_MIN = 500


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m e2e.cdc_sweep", description=__doc__)
    parser.add_argument("--short", action="store_true", help="two cases")
    parser.add_argument("--journal", type=Path, help="a file that says what is done; what is in it is not done again")
    parser.add_argument("--only", default="", help="only cases whose name holds this text")
    parser.add_argument("--jobs", type=int, default=2, help="how many cases run at a time (2)")
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no case after so long")
    parser.add_argument("--seed", type=int, default=1, help="another order of the kills")
    given = parser.parse_args()
    cases = short_form() if given.short else long_form(given.seed)
    sweep = Sweep(
        [one for one in cases if given.only in one.name], run, given.journal, given.minutes, partial(Lane, MAKERS)
    )
    held = sweep.run(given.jobs)
    for recipe in OF_RECIPE:
        of = [one for one in sweep.outcomes if one.recipe == recipe]
        kills = Counter(kill.partition(" at ")[0] for one in of for kill in one.killed)
        shown = ", ".join(f"{kills[victim]} {victim}" for victim in Victim)
        print(
            f"{recipe}: {len(of)} jobs, {kills.total()} kills ({shown}), {sum(bool(one.violations) for one in of)} violated"
        )
    total = sum(len(one.killed) for one in sweep.outcomes)
    print(f"{total} kills, {sum(bool(one.violations) for one in sweep.outcomes)} jobs with a violation")
    if not given.short:
        print(f"bar: {KILLS_MIN} kills, no violation: {'MET' if held and total >= KILLS_MIN else 'NOT REACHED'}")
    if not held:
        print(f"the homes of jobs with a violation: {sweep.root}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
