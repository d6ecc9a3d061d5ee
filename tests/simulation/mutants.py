"""Deliberate bugs in the shipping code, each of which some checker must notice: python -m tests.simulation.mutants.

A mutant is a replacement in the text of one file of the protocol. It is loaded in a process of its own, where the
protocol's modules are imported from the changed text; then seeds run until a checker objects.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.util
import json
import multiprocessing
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from statistics import median

PACKAGE = "seatunnel_py.protocol."
PROTOCOL = Path(__file__).resolve().parents[2] / "seatunnel_py" / "protocol"
SEEDS_MAX = 5000


@dataclass(frozen=True)
class Mutant:
    """``old`` stands once in the file; ``rule`` is what the mutant drops."""

    name: str
    file: str
    old: str
    new: str
    rule: str


@dataclass(frozen=True)
class Verdict:
    """How a mutant ended: by which checker, with which seed, after how many runs."""

    name: str
    checker: str = ""
    seed: int = -1
    mode: str = ""
    runs: int = 0


class _Changed(SourceFileLoader):
    """Reads a module with one replacement."""

    def __init__(self, fullname: str, path: str, mutant: Mutant) -> None:
        super().__init__(fullname, path)
        self.mutant = mutant

    def get_code(self, fullname: str) -> object:  # type: ignore[override]
        return compile(changed(self.mutant), self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if fullname != PACKAGE + self.mutant.file.removesuffix(".py"):
            return None
        where = str(PROTOCOL / self.mutant.file)
        return importlib.util.spec_from_file_location(fullname, where, loader=_Changed(fullname, where, self.mutant))


def changed(mutant: Mutant) -> str:
    """The file's text with the bug in it. ValueError if the file is not the one that the mutant was written for."""
    text = (PROTOCOL / mutant.file).read_text()
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant.name}: {mutant.old!r} stands {text.count(mutant.old)} times in {mutant.file}")
    return text.replace(mutant.old, mutant.new)


def install(mutant: Mutant) -> None:
    """From now on this process has the bug. The protocol must not have been imported yet."""
    loaded = PACKAGE + mutant.file.removesuffix(".py")
    if loaded in sys.modules:
        raise RuntimeError(f"{loaded} is imported already")
    changed(mutant)
    sys.meta_path.insert(0, _Finder(mutant))


def hunt(name: str, seeds: int) -> Verdict:
    """In this process: run seeds, both modes in turn, until the mutant is killed."""
    from tests.simulation.mutant_list import MUTANTS

    install(next(mutant for mutant in MUTANTS if mutant.name == name))
    from tests.simulation.runner import MODES
    from tests.simulation.shrink import failing_run

    for seed in range(seeds):
        for at, mode in enumerate(MODES):
            failing = failing_run(seed, mode)
            if failing is not None:
                return Verdict(name, failing.checker, seed, mode, seed * 2 + at + 1)
    return Verdict(name, runs=seeds * 2)


def outcome(task: tuple[str, int]) -> Verdict:
    """In a process of its own."""
    name, seeds = task
    command = [sys.executable, "-m", "tests.simulation.mutants", "--hunt", name, "--seeds", str(seeds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return Verdict(name, checker=f"error: {done.stderr.strip().splitlines()[-1]}")
    return Verdict(**json.loads(done.stdout))


def table(verdicts: Sequence[Verdict]) -> str:
    """For people."""
    from tests.simulation.mutant_list import MUTANTS

    rules = {mutant.name: mutant.rule for mutant in MUTANTS}
    lines = ["| mutant | rule | killed by | seed | after runs |", "|---|---|---|---|---|"]
    for one in verdicts:
        killer = one.checker or "NOT KILLED"
        where = f"{one.seed} {one.mode}" if one.seed >= 0 else "-"
        lines.append(f"| {one.name} | {rules.get(one.name, '')} | {killer} | {where} | {one.runs} |")
    return "\n".join(lines)


def main() -> int:
    from tests.simulation.mutant_list import MUTANTS

    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutants", description=__doc__)
    parser.add_argument("--hunt", help="one mutant, in this process")
    parser.add_argument("--only", help="mutants whose name contains this")
    parser.add_argument("--seeds", type=int, default=SEEDS_MAX)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.hunt:
        print(json.dumps(vars(hunt(options.hunt, options.seeds))))
        return 0
    names = [mutant.name for mutant in MUTANTS if not options.only or options.only in mutant.name]
    with multiprocessing.pool.ThreadPool(options.jobs) as pool:
        verdicts = pool.map(outcome, [(name, options.seeds) for name in names], chunksize=1)
    print(table(verdicts))
    killed = [one for one in verdicts if one.seed >= 0]
    seeds = [one.seed + 1 for one in killed]
    print(f"{len(killed)} of {len(verdicts)} killed; seeds needed: median {median(seeds):.0f}, worst {max(seeds)}")
    return 0 if len(killed) == len(verdicts) else 1


if __name__ == "__main__":
    import multiprocessing.pool

    raise SystemExit(main())
