"""Whether a mutant is killed: by the simulation, whose seeds run until a checker objects, or by a file of tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass

import pytest

from tests.mutants.mutant import ROOT, Mutant, install

SEEDS_MAX = 1500
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
    if mutant.killer:
        return by_test(mutant)
    return by_simulation(mutant, seeds)


def by_simulation(mutant: Mutant, seeds: int) -> Verdict:
    """Seeds, both modes in turn."""
    from tests.simulation.runner import failure_of
    from tests.simulation.world import MODES

    for seed in range(seeds):
        for at, mode in enumerate(MODES):
            failed = failure_of(seed, mode)
            if failed:
                return Verdict(mutant.name, failed not in BROKEN, failed, seed, mode, seed * len(MODES) + at + 1)
    return Verdict(mutant.name, runs=seeds * len(MODES))


def fails_again(verdict: Verdict) -> bool:
    """Whether its seed fails, in this process, too."""
    from tests.simulation.runner import failure_of

    return bool(failure_of(verdict.seed, verdict.mode))


def by_test(mutant: Mutant) -> Verdict:
    """Up to the first test that fails."""
    watch = run_tests([mutant.killer], "-x")
    test, error = watch.failed[0] if watch.failed else ("", "")
    killed = bool(test) and error not in BROKEN
    return Verdict(mutant.name, killed, test if killed else f"{test} {error}".strip(), runs=watch.runs)


def needless(verdicts: Iterable[Verdict]) -> list[str]:
    """Mutants whose killer objects to the code without them as well. In this process, which has no bug."""
    killed = [one for one in verdicts if one.killed]
    tests = sorted({one.by for one in killed if one.seed < 0})
    failed = {test for test, _ in run_tests(tests).failed} if tests else set()
    return [one.name for one in killed if (fails_again(one) if one.seed >= 0 else one.by in failed)]


class Watch:
    """Which tests failed, each with what, among how many that were begun."""

    def __init__(self) -> None:
        self.failed: list[tuple[str, str]] = []
        self.runs = 0

    def pytest_runtest_logstart(self) -> None:
        self.runs += 1

    def pytest_exception_interact(self, node: pytest.Item, call: pytest.CallInfo[None]) -> None:
        if call.excinfo is not None:
            self.failed.append((node.nodeid, call.excinfo.type.__name__))


def run_tests(tests: Iterable[str], *options: str) -> Watch:
    """Files, or single tests of them. Properties try the same examples each time (tests/conftest.py)."""
    os.environ["CI"] = "hunt"
    watch = Watch()
    with redirect_stdout(sys.stderr):
        code = pytest.main([*(str(ROOT / test) for test in tests), *options], plugins=[watch])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise RuntimeError(f"the tests did not run: {pytest.ExitCode(code).name}")
    return watch


def outcome(mutant: Mutant, seeds: int) -> Verdict:
    """In a process of its own."""
    command = [sys.executable, "-m", "tests.mutants", "--hunt", mutant.name, "--seeds", str(seeds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        return Verdict(mutant.name, by=f"error: {(done.stderr.strip() or 'no word').splitlines()[-1]}")
    return Verdict(**json.loads(done.stdout))
