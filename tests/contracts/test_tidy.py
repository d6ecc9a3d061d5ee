"""House rules as tests: sizes, unfinished work, words that must not appear."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = ("seatunnel_py", "connectors", "plugins")
MODULE_LINES_MAX = 400
PROTOCOL_LINES_MAX = 300
FUNCTION_LINES_MAX = 50
FILE_BYTES_MAX = 1_000_000


def tracked(*suffixes: str) -> list[Path]:
    shown = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / line for line in shown.splitlines() if line.endswith(suffixes) and (ROOT / line).is_file()]


def test_no_file_is_larger_than_what_people_write() -> None:
    """What a program has printed belongs to the machine that it ran on."""
    assert [str(path) for path in tracked("") if path.stat().st_size > FILE_BYTES_MAX] == []


def product() -> list[Path]:
    return [path for path in tracked(".py") if path.relative_to(ROOT).parts[0] in PRODUCT]


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    """One concept, one file."""
    assert [str(path) for path in product() if len(path.read_text().splitlines()) > MODULE_LINES_MAX] == []


def test_no_file_of_the_protocol_is_longer_than_a_sitting() -> None:
    """It is what an expert opens first."""
    files = (ROOT / "seatunnel_py" / "protocol").rglob("*.py")
    assert [str(path) for path in files if len(path.read_text().splitlines()) > PROTOCOL_LINES_MAX] == []


def test_every_function_fits_a_screen() -> None:
    """Docstrings count: a function that needs a page of them does too much."""
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in product()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno + 1 > FUNCTION_LINES_MAX
    ]

    assert long == []


def test_every_module_says_what_it_is() -> None:
    """The first lines of a file tell a newcomer whether to read on."""
    assert [str(path) for path in product() if not ast.get_docstring(ast.parse(path.read_text()))] == []


@pytest.mark.parametrize("word", ["TODO", "FIXME", "XXX", "HACK", "raise NotImplementedError"])
def test_nothing_is_left_for_later(word: str) -> None:
    """What is not done is not there; what is planned stands in an issue."""
    assert [str(path) for path in product() if re.search(rf"\b{word}\b", path.read_text())] == []


def test_no_file_names_a_registry_or_a_home_directory() -> None:
    """A lock with an index address in it works on one machine only."""
    pattern = re.compile(r"(--index-url|--extra-index-url|--find-links|/root/|/home/[a-z])")
    skipped = {Path(__file__)}
    found = [
        str(path.relative_to(ROOT))
        for path in tracked(".py", ".toml", ".lock", ".md", ".conf", "Makefile", "run")
        if path not in skipped and pattern.search(path.read_text(errors="replace"))
    ]

    assert found == []


def test_no_dataclass_with_slots_calls_super_without_arguments() -> None:
    """`slots=True` makes the class again, and `super()` means the first one: a TypeError where it is called."""
    found = []
    for path in product():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and any("slots=True" in ast.unparse(one) for one in node.decorator_list):
                calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
                found += [f"{path}:{one.lineno}" for one in calls if ast.unparse(one) == "super()"]
    assert found == []
