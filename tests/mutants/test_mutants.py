"""The mechanism behind `make mutants`: a bug in the shipping code is found, and a long failing run becomes a short one."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.mutants.all import MUTANTS
from tests.mutants.mutant import Mutant, changed

EVENTS_MAX = 40

HUNT_AND_SHRINK = """
import json, sys
from tests.mutants.all import MUTANTS
from tests.mutants.mutant import install
install(next(mutant for mutant in MUTANTS if mutant.name == sys.argv[1]))
from tests.simulation.shrink import attempt, failing_run, shrink
failing = next(found for seed in range(50) if (found := failing_run(seed, "aligned")))
small = shrink(failing, "aligned")
again = attempt(small.script, "aligned")
print(json.dumps([failing.events, small.events, failing.checker, small.checker, again == small]))
"""


def python(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_fits_the_code(mutant: Mutant) -> None:
    """Its place stands once in its file, and the changed file is Python: else it would test nothing."""
    compile(changed(mutant), mutant.file, "exec")


def test_names_of_mutants_differ() -> None:
    """The table is read by name."""
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize(
    ("name", "checkers"),
    [
        ("no dedup by id", {"I23NoGap", "I2NoDuplicate"}),
        ("channel state left out", {"I8ConsistentCut"}),
        ("no journal before emission", {"I39JournalFirst"}),
        ("a unit counts before it is logged", {"JournalFirst", "I39JournalFirst"}),
        ("a pipeline is closed while units are under way", {"ClosesWhenIdle"}),
    ],
)
def test_a_mutant_is_killed(name: str, checkers: set[str]) -> None:
    """By a checker of the invariant that it breaks, within a few seeds."""
    verdict = json.loads(python("-m", "tests.mutants", "--hunt", name, "--seeds", "60"))

    assert verdict["by"] in checkers
    assert verdict["killed"]


@pytest.mark.parametrize(
    "name", ["no dedup by id", pytest.param("an abort drops staged pieces", marks=pytest.mark.long)]
)
def test_a_planted_bug_shrinks(name: str) -> None:
    """To a run that a person can read; and what is left fails again in the same way."""
    before, after, checker, same, again = json.loads(python("-c", HUNT_AND_SHRINK, name))

    assert after <= EVENTS_MAX < before
    assert checker == same
    assert again
