"""``python -m e2e.soak [--minutes 30] [--every 20] [--seed N]``"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from pathlib import Path

from e2e.soak import report
from e2e.soak.runner import Soak


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m e2e.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long rows flow and things are killed (30)")
    parser.add_argument("--every", type=float, default=20.0, help="seconds from kill to kill (20)")
    parser.add_argument("--seed", type=int, default=None, help="who dies when; a random one where it is left out")
    given = parser.parse_args()
    seed = random.randrange(2**31) if given.seed is None else given.seed
    home = Path(tempfile.mkdtemp(prefix="soak-"))
    print(f"seed {seed}, {given.minutes:g} minutes, a kill every {given.every:g} s, in {home}", flush=True)
    outcome = Soak(home, seed, 60 * given.minutes, given.every).run()
    print(report.table(outcome))
    if outcome.reached:
        shutil.rmtree(home, ignore_errors=True)
    else:
        print(f"what was violated lies in {home}")
    return 0 if outcome.reached else 1


if __name__ == "__main__":
    sys.exit(main())
