"""Every fault of operation has its answer, and tests that quote its number."""

from __future__ import annotations

import re

import pytest

from tests.docs.operation_faults import REQUIRED, faults
from tests.docs.trials import Answer, functions

OTHERS_MIN = 24
"""How many faults of other products need a test (issue 26, bar 10)."""


def test_every_fault_has_one_answer_in_order() -> None:
    assert [one.fault for one in faults()] == REQUIRED


@pytest.mark.parametrize("one", faults(), ids=lambda one: one.fault)
def test_an_answer_is_shown_by_tests_that_quote_its_number(one: Answer) -> None:
    if one.kind == "open":
        assert len(one.answer.partition(":")[2].split()) > 2 and not one.shown_by, one.answer
        return
    one.require_shown("shown", "decision")
    for path, name in one.tests:
        quoted = re.search(rf"(?i)(?<![a-z0-9]){one.fault}(?![a-z0-9])", functions(path)[name])
        assert quoted, f"{path}::{name} does not quote {one.fault}"


def test_enough_faults_of_others_are_shown() -> None:
    assert sum(one.fault[0] == "U" and one.kind == "shown" for one in faults()) >= OTHERS_MIN
