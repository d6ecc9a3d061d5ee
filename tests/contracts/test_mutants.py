"""Every rule that a file of the protocol states has a mutant that drops it, and mutants name only rules that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.contracts.test_protocol import FILES, FOREIGN, known, rules
from tests.mutants.all import MUTANTS
from tests.mutants.mutant import RUNTIME as RUNTIME_PACKAGE

LABEL = re.compile(r"([A-Z]{1,2})(\d+)(\.\d+)?")
DROPPED = frozenset[str]().union(*(mutant.labels for mutant in MUTANTS if mutant.package != RUNTIME_PACKAGE))
OF_RUNTIME = frozenset[str]().union(*(mutant.labels for mutant in MUTANTS if mutant.package == RUNTIME_PACKAGE))
RUNTIME = Path(__file__).parents[2] / "seatunnel_py" / "runtime"


@pytest.mark.parametrize("path", [path for path in FILES if rules(path)], ids=lambda path: path.name)
def test_every_rule_has_a_mutant(path: Path) -> None:
    """A rule whose removal nothing can notice is no rule."""
    stated = {f"{letters}{number}" for letters, number in rules(path)}

    assert sorted(stated - DROPPED) == []


@pytest.mark.parametrize("label", sorted(DROPPED | {label for label in OF_RUNTIME if LABEL.fullmatch(label)}))
def test_every_rule_that_a_mutant_names_exists(label: str) -> None:
    """Invariants, origins and faults stand elsewhere; only those of origins have two numbers."""
    found = LABEL.fullmatch(label)
    assert found is not None
    letters, number, part = found.groups()

    assert (part is not None) == (letters == "O")
    assert letters in FOREIGN or int(number) in known().get(letters, ())


@pytest.mark.parametrize("label", sorted(label for label in OF_RUNTIME if not LABEL.fullmatch(label)))
def test_every_rule_of_the_runtime_that_a_mutant_names_exists(label: str) -> None:
    """A file, and the number of a rule in the text at its head."""
    name, number = label.split(" ")
    (path,) = RUNTIME.rglob(f"{name}.py")
    text = ast.get_docstring(ast.parse(path.read_text())) or ""

    assert f"({number})" in text


def test_mutants_that_tests_kill_name_a_file_of_tests() -> None:
    """Where there are no tests nobody notices anything."""
    root = Path(__file__).parents[2]

    assert [mutant.name for mutant in MUTANTS if mutant.killer and not (root / mutant.killer).is_file()] == []
