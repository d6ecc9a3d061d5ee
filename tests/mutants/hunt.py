"""Whether a mutant is killed: by the simulation, whose seeds run until a checker objects, or by a file of tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass

import pytest

from tests.mutants.mutant import PROTOCOL, Mutant, install

ROOT = PROTOCOL.parents[1]
SEEDS_MAX = 5000
BROKEN = {"AttributeError", "ImportError", "NameError", "SyntaxError", "TypeError", "UnboundLocalError"}
"""Code that ends in one of these says nothing about the rule that it was to drop."""


@dataclass(frozen=True)
class Verdict:
    """How a mutant ended: by which checker or test; with which seed, after how many runs."""

    name: str
    killed: bool = False
    by: str = ""
    seed: int = -1
    mode: str = ""
    runs: int = 0


def hunt(mutant: Mutant, seeds: int) -> Verdict:
    """In this process, which has the bug from then on."""
    install(mutant)
    return by_test(mutant) if mutant.killer else by_simulation(mutant, seeds)


def by_simulation(mutant: Mutant, seeds: int) -> Verdict:
    """Seeds, both modes in turn."""
    from tests.simulation.runner import MODES
    from tests.simulation.shrink import failing_run

    for seed in range(seeds):
        for at, mode in enumerate(MODES):
            failing = failing_run(seed, mode)
            if failing is not None:
                runs = seed * len(MODES) + at + 1
                return Verdict(mutant.name, failing.checker not in BROKEN, failing.checker, seed, mode, runs)
    return Verdict(mutant.name, runs=seeds * len(MODES))


def by_test(mutant: Mutant) -> Verdict:
    """Up to the first test that fails."""
    first = _First()
    os.environ["CI"] = "1"  # the profile of conftest.py in which properties try the same examples each time
    with redirect_stdout(sys.stderr):
        code = pytest.main([str(ROOT / mutant.killer), "-x", "-p", "no:cacheprovider"], plugins=[first])
    killed = code == pytest.ExitCode.TESTS_FAILED and first.error not in BROKEN
    return Verdict(
        mutant.name, killed, first.test if killed else f"{first.test} {first.error}".strip(), runs=first.runs
    )


class _First:
    """Remembers the test that fails first, and with what."""

    def __init__(self) -> None:
        self.test = self.error = ""
        self.runs = 0

    def pytest_runtest_logstart(self) -> None:
        self.runs += 1

    def pytest_exception_interact(self, node: pytest.Item, call: pytest.CallInfo[None]) -> None:
        if not self.test and call.excinfo is not None:
            self.test, self.error = node.nodeid, call.excinfo.type.__name__


def outcome(mutant: Mutant, seeds: int) -> Verdict:
    """In a process of its own."""
    command = [sys.executable, "-m", "tests.mutants", "--hunt", mutant.name, "--seeds", str(seeds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        return Verdict(mutant.name, by=f"error: {(done.stderr.strip() or 'no word').splitlines()[-1]}")
    return Verdict(**json.loads(done.stdout))
