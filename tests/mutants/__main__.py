"""Every mutant, and its killer: python -m tests.mutants."""

from __future__ import annotations

import argparse
import json
import resource
from collections.abc import Sequence
from functools import partial
from multiprocessing.pool import ThreadPool
from statistics import median

from tests.contracts.test_protocol import FILES, rules
from tests.mutants.all import MUTANTS
from tests.mutants.hunt import SEEDS_MAX, Verdict, hunt, needless, outcome
from tests.mutants.mutant import Mutant

BYTES_MAX = 4 << 30
"""A mutant that lets the protocol talk for ever dies of it, and not the machine."""
CPU_SECONDS_MAX = 1200
"""A mutant that computes for ever ends, and counts as not killed: no checker has noticed it."""
HEAD = "| mutant | rules | killed by | seed | after runs |\n|---|---|---|---|---|"


def row(mutant: Mutant, verdict: Verdict) -> str:
    """A line of the table, for people."""
    killer = verdict.by if verdict.killed else f"NOT KILLED {verdict.by}".strip()
    where = f"{verdict.seed} {verdict.mode}" if verdict.seed >= 0 else "-"
    return f"| {mutant.name} | {mutant.rules} | {killer} | {where} | {verdict.runs} |"


def summary(verdicts: Sequence[Verdict]) -> str:
    """How many were killed, and how hard it was for the simulation."""
    killed = [one for one in verdicts if one.killed]
    seeds = [one.seed + 1 for one in killed if one.seed >= 0]
    text = f"{len(killed)} of {len(verdicts)} killed"
    if not seeds:
        return text
    return (
        f"{text}, {len(seeds)} of them by the simulation; seeds needed: median {median(seeds):.0f}, worst {max(seeds)}"
    )


def without(file: str | None) -> list[str]:
    """The rules that no mutant drops: of this file, or of all."""
    file = file and file.rsplit("/", 1)[-1]
    dropped = frozenset[str]().union(*(mutant.labels for mutant in MUTANTS))
    stated = [f"{letters}{number}" for path in FILES if file in (None, path.name) for letters, number in rules(path)]
    return [label for label in stated if label not in dropped]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--hunt", help="the mutant of this name, in this process")
    parser.add_argument("--only", default="", help="mutants whose name contains this")
    parser.add_argument("--file", help="mutants of this file of the protocol or of the runtime")
    parser.add_argument("--seeds", type=int, default=SEEDS_MAX)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.hunt:
        resource.setrlimit(resource.RLIMIT_AS, (BYTES_MAX, BYTES_MAX))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS_MAX, CPU_SECONDS_MAX))
        mutant = next(mutant for mutant in MUTANTS if mutant.name == options.hunt)
        print(json.dumps(vars(hunt(mutant, options.seeds))))
        return 0
    chosen = [one for one in MUTANTS if options.only in one.name and one.is_of(options.file)]
    verdicts = []
    print(HEAD, flush=True)
    with ThreadPool(options.jobs) as pool:
        for mutant, verdict in zip(chosen, pool.imap(partial(outcome, seeds=options.seeds), chosen), strict=True):
            verdicts.append(verdict)
            print(row(mutant, verdict), flush=True)
    print(summary(verdicts))
    lists = {"rules without a mutant": without(options.file), "killed without the mutant too": needless(verdicts)}
    for what, found in lists.items():
        print(f"{what}: {', '.join(found) or 'none'}")
    return 0 if all(one.killed for one in verdicts) and not any(lists.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
