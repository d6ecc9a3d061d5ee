"""``python -m e2e.crash_sweep [--short] [--journal FILE] [--only TEXT] [--before COMMIT] [--list]``"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from e2e.crash_sweep import report
from e2e.crash_sweep.cases import long_form, short_form
from e2e.crash_sweep.lanes import Sweep
from e2e.crash_sweep.runner import run
from tests.servers.commits import installed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m e2e.crash_sweep", description=__doc__)
    parser.add_argument("--short", action="store_true", help="every failpoint and every victim at least once")
    parser.add_argument("--journal", type=Path, help="a file that says what is done; what is in it is not done again")
    parser.add_argument("--only", default="", help="only cases whose name holds this text")
    parser.add_argument("--jobs", type=int, default=2, help="how many cases run at a time (2)")
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no case after so long: a chunk")
    parser.add_argument(
        "--before", help="an older commit, which runs the drivers that are killed: an upgrade in between"
    )
    parser.add_argument("--list", action="store_true", help="print the cases")
    given = parser.parse_args()
    cases = [case for case in (short_form() if given.short else long_form()) if given.only in case.name]
    if given.short:
        cases.sort(key=lambda case: -case.size)  # so that all lanes end at about the same time
    if given.list:
        print(*(case.name for case in cases), sep="\n")
        return 0
    before = str(installed(given.before) / "python") if given.before else ""
    sweep = Sweep(cases, partial(run, before=before), given.journal, given.minutes)
    held = sweep.run(given.jobs)
    print(report.table(sweep.outcomes))
    print(report.moments(sweep.outcomes))
    print(report.verdict(sweep.outcomes, bar=None if given.short else report.KILLS_MIN))
    if not held:
        print(f"what was violated lies in {sweep.root}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
