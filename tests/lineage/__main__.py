"""``python -m tests.lineage [--plans 10000]``: random plans whose lineage is compared with their rows."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.lineage.check import Outcome, check


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.lineage", description=__doc__)
    parser.add_argument("--plans", type=int, default=10_000)
    parser.add_argument("--start", type=int, default=0)
    given = parser.parse_args()
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as place:
        for seed in range(given.start, given.start + given.plans):
            check(seed, Path(place), outcome)
    print(", ".join(f"{name} {count}" for name, count in sorted(outcome.seen.items())))
    print(*outcome.violations[:20], sep="\n")
    print(f"{given.plans} plans, {len(outcome.violations)} violations")
    return 1 if outcome.violations else 0


if __name__ == "__main__":
    sys.exit(main())
