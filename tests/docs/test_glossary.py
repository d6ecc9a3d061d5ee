"""The glossary against the code: what it names is there, and every state and code that a user meets is in it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from seatunnel_py.api import Guarantee
from seatunnel_py.errors import ExitCode
from seatunnel_py.runtime.observe.receipt import TableState

ROOT = Path(__file__).parents[2]
PACKAGES = ("seatunnel_py", "connectors", "plugins")
WORDS = (
    "unit pack piece region lineage epoch incarnation barrier channel checkpoint savepoint split pipeline vertex subtask"
    " commit-scope ledger journal segment isolated quarantine generation record receipt staged shadow recipe guarantee"
)
TWO_SENTENCES = re.compile(r"[.!?] ")


@cache
def rows() -> dict[str, list[list[str]]]:
    """The tables of the page by their headings: cells of each line."""
    found: dict[str, list[list[str]]] = {}
    title = ""
    for line in (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            title = line.removeprefix("## ")
        elif line.startswith("| ") and not line.startswith(("| word ", "| state ", "| code ")):
            found.setdefault(title, []).append([cell.strip() for cell in line.strip("|").split(" | ")])
    return found


def definitions() -> list[list[str]]:
    """Lines that define a word: the word, its sentence, its names in the code."""
    return [[cells[0].strip("| "), *cells[1:]] for lines in rows().values() for cells in lines if len(cells) == 3]


def words() -> dict[str, list[str]]:
    """These lines by their words."""
    return {cells[0]: cells for cells in definitions()}


@cache
def classes() -> frozenset[str]:
    """Names of all classes of the product."""
    found = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found |= {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    return frozenset(found)


def exit_codes(page: str) -> set[str]:
    """The first cells of the table of exit codes on a page."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8").partition("## Exit codes")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| (\d+) \|", text, flags=re.MULTILINE))


@pytest.mark.parametrize("word", WORDS.split())
def test_every_word_that_a_user_meets_is_defined(word: str) -> None:
    """A glossary with gaps is looked into once."""
    assert word.replace("-", " ") in words()


def test_a_word_is_defined_once_in_one_sentence() -> None:
    """One plain sentence each."""
    assert len(words()) == len(definitions())
    assert [word for word, cells in words().items() if TWO_SENTENCES.search(cells[1].rstrip(".") + " ")] == []
    assert [word for word, cells in words().items() if not cells[1].endswith(".")] == []


def test_every_class_that_the_glossary_names_exists() -> None:
    """A class that was renamed is renamed here as well."""
    named = {name for cells in words().values() for name in re.findall(r"`(\w+)`", cells[2])}

    assert named
    assert sorted(named - classes()) == []


def test_every_state_of_a_table_and_every_guarantee_is_in_it() -> None:
    """People read these words in receipts."""
    states = {cells[0].strip("|` ") for cells in rows()["States of a table"]}

    assert states == {state.value for state in TableState}
    assert [one for one in Guarantee if one.text.split(" (")[0] not in words()] == []


@pytest.mark.parametrize("page", ["glossary.md", "production.md"])
def test_every_exit_code_is_explained(page: str) -> None:
    """Scripts decide by them."""
    codes = {str(value) for name, value in vars(ExitCode).items() if name.isupper()}

    assert exit_codes(page) == codes
