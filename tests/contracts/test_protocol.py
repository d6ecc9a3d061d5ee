"""The rules of the protocol and of its reference are listed by number in their files, once each.

Every file says what it may not know.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROTOCOL = ROOT / "seatunnel_py" / "protocol"
REFERENCE = ROOT / "tests" / "protocol" / "reference"
"""Theory and tables that the protocol is compared with. Its rules count like those of the product."""
IN_PRODUCT = sorted(path for path in PROTOCOL.rglob("*.py") if path.parent == PROTOCOL or path.name != "__init__.py")
FILES = [*IN_PRODUCT, *sorted(REFERENCE.glob("*.py"))]
NAMED = {str(path.relative_to(PROTOCOL if path in IN_PRODUCT else REFERENCE.parent)): path for path in FILES}
IDS = list(NAMED)
CONTINUED = {
    "reference/commit_life.py": "commit/commit_queue.py",
    "reference/ledger.py": "commit/commit_queue.py",
    "reference/stable_properties.py": "stuck.py",
    "reference/table_lifecycle.py": "coordinator/isolation.py",
}
"""A file that goes on with the rules of another one, and says so."""
VOCABULARY = {
    "__init__.py",
    "coordinator/commands.py",
    "coordinator/events.py",
    "model/errors.py",
    "model/ids.py",
    "participant/messages.py",
    "model/reasons.py",
}
"""These name things and decide nothing, so that they have no rules."""
FOREIGN = {"I", "O", "F"}
"""Letters of invariants, origins and faults."""
DEFINITION = re.compile(r"\(([A-Z]+)(\d+)\)\s(?=[A-Z`])")
MENTION = re.compile(r"(?<![\w.`-])([A-Z]{1,2})(\d+)\b")


def docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text())) or ""


def rules(path: Path) -> list[tuple[str, int]]:
    """The rules that a file states, in their order."""
    stated = re.split(r"Rules\b[^(]*(?=\()", docstring(path), maxsplit=1)
    return [(letters, int(number)) for letters, number in DEFINITION.findall("".join(stated[1:]))]


def known() -> dict[str, set[int]]:
    found: dict[str, set[int]] = defaultdict(set)
    for path in FILES:
        for letters, number in rules(path):
            found[letters].add(number)
    return found


def is_guard(node: ast.AST) -> bool:
    """It refuses, and leads nowhere else."""
    return isinstance(node, ast.If) and not node.orelse and isinstance(node.body[0], ast.Raise)


def comments(path: Path) -> Iterator[str]:
    """Docstrings and comments of a file."""
    text = path.read_text()
    yield from re.findall(r"#.*", text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_every_file_says_what_it_may_not_know(path: Path) -> None:
    """Ignorance is what keeps the parts apart; a reader sees at once what a file cannot be about."""
    assert "May not know:" in docstring(path)


@pytest.mark.parametrize("name", [name for name in IDS if name not in VOCABULARY])
def test_every_file_that_decides_lists_its_rules_by_number(name: str) -> None:
    """With letters of its own, counted from 1 without gaps, so that a mutant can name what it drops."""
    found = rules(NAMED[name])
    letters = {letters for letters, _ in found}
    owner = CONTINUED.get(name, name)
    together = [number for other in IDS if CONTINUED.get(other, other) == owner for _, number in rules(NAMED[other])]

    assert len(letters) == 1, f"{name} has rules of {sorted(letters)}"
    assert sorted(together) == list(range(1, len(together) + 1))


@pytest.mark.parametrize("name", sorted(VOCABULARY))
def test_a_file_without_rules_decides_nothing(name: str) -> None:
    """Where there is no rule there is nothing to be broken."""
    path = NAMED[name]
    deciding = (ast.If, ast.IfExp, ast.For, ast.While, ast.Match, ast.BoolOp, ast.comprehension, ast.Try)
    found = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, deciding)]

    assert rules(path) == []
    assert [node.lineno for node in found if not is_guard(node)] == []


def test_letters_belong_to_one_file() -> None:
    """A rule is named without its file in tests, mutants and conversation."""
    owners: dict[str, set[str]] = defaultdict(set)
    for name, path in NAMED.items():
        for letters, _ in rules(path):
            owners[letters].add(CONTINUED.get(name, name))

    assert {letters: sorted(files) for letters, files in owners.items() if len(files) > 1} == {}
    assert not owners.keys() & FOREIGN


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_every_rule_that_a_file_speaks_of_exists(path: Path) -> None:
    """Also those of other files."""
    stated = known()
    spoken = {(letters, int(number)) for text in comments(path) for letters, number in MENTION.findall(text)}

    assert sorted(one for one in spoken if one[0] not in FOREIGN and one[1] not in stated.get(one[0], set())) == []
