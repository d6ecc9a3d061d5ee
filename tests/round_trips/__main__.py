"""`python -m tests.round_trips`: random values of every type through every pair of a database and a place, and back.

With `--log` the tables of a database are copied, then changed, and followed through its log (`followed.py`).

Prints for each pair how many values came back equal, converted under a name, or refused; any other end is a finding,
is printed, and makes the exit code 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from tests.round_trips.databases import Database
from tests.round_trips.followed import run_followed_round
from tests.round_trips.pairs import FOLLOWED_PAIRS, Pairs, pairs
from tests.round_trips.places import Place
from tests.round_trips.rounds import ROUTES, Outcome, run_round

FINDINGS_SHOWN_MAX = 20
FIRST_ROWS_MAX = 40
"""The first round is small: it shows which kinds the pair refuses."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.round_trips", description=__doc__)
    parser.add_argument("--values", type=int, default=200_000, help="values for each pair (200,000)")
    parser.add_argument("--rows", type=int, default=10_000, help="values of each type in a round, at most")
    parser.add_argument("--pair", action="append", choices=Pairs.names(), help="only this pair; may be repeated")
    parser.add_argument("--route", choices=ROUTES, default="plain", help="what the rows go through on their way")
    parser.add_argument("--log", action="store_true", help="through the log of the database: copied and followed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--causes", action="store_true", help="also print why values were refused or converted")
    given = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as home, pairs(Path(home), logged=given.log) as made:
        for name in given.pair or (FOLLOWED_PAIRS if given.log else Pairs.names()):
            database, _, place = name.partition(":")
            began, total, number = time.monotonic(), Outcome(), 0
            while total.counts.total() < given.values:
                random = Random(f"{given.seed} {name} {number}")
                source = made.database(database)
                rows = _rows(given.values - total.counts.total(), len(source.kinds) - len(total.refused), number)
                rows = min(given.rows, rows)
                try:
                    target = made.place(database, place)
                    total.add(_round(given, source, target, Path(home), random, rows, total))
                except AssertionError as error:
                    print(f"{name}: {error}", flush=True)
                    failed = True
                    break
                number += 1
            failed |= bool(total.findings)
            _show(name, total, time.monotonic() - began, causes=given.causes)
    return int(failed)


def _round(
    given: argparse.Namespace, source: Database, target: Place, home: Path, random: Random, rows: int, total: Outcome
) -> Outcome:
    if given.log:
        folder = Path(tempfile.mkdtemp(dir=home))  # each round is a job of its own
        return run_followed_round(source, target, folder, random, rows, source.kinds)
    return run_round(source, target, home, random, rows, source.kinds, total.refused, ROUTES[given.route])


def _rows(lacking: int, kinds: int, number: int) -> int:
    """Values of each kind in the next round, so that one large round is enough."""
    return FIRST_ROWS_MAX if number == 0 else max(FIRST_ROWS_MAX, lacking * 11 // (10 * max(1, kinds)))


def _show(name: str, total: Outcome, seconds: float, *, causes: bool) -> None:
    counts = "  ".join(f"{word} {count:,}" for word, count in sorted(total.counts.items()))
    print(f"{name:24} {total.counts.total():>9,} values in {seconds:5.0f} s: {counts}", flush=True)
    for cause, count in total.causes.most_common() if causes else ():
        print(f"    {count:>7,}  {cause}")
    for finding in total.findings[:FINDINGS_SHOWN_MAX]:
        print(f"    {finding.kind}: {finding.before!r} -> {finding.after!r} {finding.note}")


if __name__ == "__main__":
    sys.exit(main())
