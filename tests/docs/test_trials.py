"""The table of faults is whole, and shows nothing that does not exist."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.docs.trials import Answer, answers, required

ROOT = Path(__file__).parents[2]


def test_every_numbered_fault_has_an_answer() -> None:
    named = {one.fault for one in answers()}
    assert required() <= named, sorted(required() - named)


@pytest.mark.parametrize("one", answers(), ids=lambda one: f"{one.file}:{one.fault}")
def test_an_answer_is_shown_by_something_that_exists(one: Answer) -> None:
    kind, _, reason = one.answer.partition(":")
    assert kind == "fixed" or (kind in ("decision", "open") and len(reason.split()) > 2), one.answer
    assert one.shown_by, f"{one.fault} is shown by nothing"
    for shown in one.shown_by:
        path, _, name = shown.partition("::")
        assert (ROOT / path.partition("#")[0]).exists(), f"{one.fault}: there is no {path}"
        if path.endswith(".py"):
            assert name.partition("[")[0].rpartition("::")[2] in functions(path), f"{one.fault}: {path} has no {name}"
    assert kind != "fixed" or any("::" in shown for shown in one.shown_by), f"{one.fault} is shown by no test"


@cache
def functions(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text())
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef))
