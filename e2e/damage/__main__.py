"""``python -m e2e.damage [--count N] [--journal FILE] [--only TEXT] [--jobs N]``"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from e2e.crash_sweep.place import Lane
from e2e.damage.cases import Outcome, Verdict, case
from e2e.damage.recipes import RECIPES, SCENARIOS
from e2e.damage.scenarios import scenario

CHUNK = 400
"""Cases of one process: whatever a restore leaves behind in it ends with it."""
SHARED = Path("/dev/shm")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m e2e.damage", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="restores in all (20,000)")
    parser.add_argument("--journal", type=Path, default=Path(".cache/damage.jsonl"), help="goes on from there")
    parser.add_argument("--only", default="", help="only scenarios whose name holds this text")
    parser.add_argument("--jobs", type=int, default=2, help="scenarios at a time (2)")
    parser.add_argument("--chunk", nargs=4, metavar=("RECIPE", "STORE", "FIRST", "CASES"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.journal.parent.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # its servers end with it
    if given.chunk:
        recipe, store, first, cases = given.chunk
        chunk(recipe, store, range(int(first), int(first) + int(cases)), given.journal)
        return 0
    return campaign(given.count, given.journal, given.only, given.jobs)


def campaign(count: int, journal: Path, only: str, jobs: int) -> int:
    """Chunk by chunk, each scenario in its turn; what the journal holds is not done again."""
    wanted = [one for one in SCENARIOS if only in ", ".join(one)]
    done = Counter(outcome.scenario for outcome in load(journal))
    weights = {one: RECIPES[one[0]].weight for one in wanted}
    each = {one: math.ceil(count * weight / sum(weights.values())) for one, weight in weights.items()}
    begun: list[subprocess.Popen[bytes]] = []
    running: list[subprocess.Popen[bytes]] = []
    for first in range(0, max(each.values()), CHUNK):
        for recipe, store in wanted:
            begin = max(first, done[f"{recipe}, {store}"])
            cases = min(first + CHUNK, each[recipe, store]) - begin
            if cases > 0:
                words = [recipe, store, str(begin), str(cases)]
                command = [sys.executable, "-m", "e2e.damage", "--journal", str(journal), "--chunk", *words]
                begun.append(process := subprocess.Popen(command))
                running.append(process)
                while len(running) >= jobs:
                    running.pop(0).wait()
    for process in running:
        process.wait()
    failed = [" ".join(map(str, process.args[-4:])) for process in begun if process.returncode]
    outcomes = load(journal)
    print(table(outcomes))
    bad = [one for one in outcomes if one.verdict not in (Verdict.REFUSED, Verdict.EXACT)]
    for one in bad[:20]:
        print(f"\n{one.scenario} #{one.seed}, {one.chain}: {one.what}, {one.kind}: {one.verdict}\n{one.said}")
    for one in failed:
        print(f"\nnot done, see above: {one}")
    return 1 if bad or failed else 0


def chunk(recipe: str, store: str, seeds: range, journal: Path) -> None:
    """Cases of one scenario, in this process."""
    if SHARED.is_dir():
        tempfile.tempdir = str(SHARED)  # the servers' files too: a database is put back for each case
    root = Path(tempfile.mkdtemp(prefix="damage-"))
    lane = Lane()
    try:
        one = scenario(recipe, store, root, lane)
        one.begin(one.damaged.chains)
        with journal.open("a", buffering=1) as file:
            for seed in seeds:
                file.write(json.dumps(asdict(case(one, seed))) + "\n")
    finally:
        lane.close()
        shutil.rmtree(root, ignore_errors=True)


def load(journal: Path) -> list[Outcome]:
    lines = journal.read_text().splitlines() if journal.exists() else []
    return [Outcome(**json.loads(line)) for line in lines]


def table(outcomes: Iterable[Outcome]) -> str:
    """A row for each scenario."""
    found: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        found.setdefault(outcome.scenario, Counter())[outcome.verdict] += 1
    found["all"] = sum(found.values(), Counter())
    rows = ["| scenario | cases | " + " | ".join(Verdict) + " |", "|---|--:" + "|--:" * len(Verdict) + "|"]
    for name, counted in found.items():
        figures = " | ".join(str(counted[one]) for one in Verdict)
        rows.append(f"| {name} | {counted.total()} | {figures} |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
