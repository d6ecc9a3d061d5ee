"""Every fault of a table has its answer, and tests that quote its number."""

from __future__ import annotations

import re

import pytest

from tests.docs.fault_tables import CDC, OPERATION, FaultTable
from tests.docs.trials import Answer, functions

OTHERS_MIN = 24
"""How many faults of other products need a test (issue 26, bar 10)."""
CASES = [pytest.param(table, one, id=one.fault) for table in (CDC, OPERATION) for one in table.answers()]


@pytest.mark.parametrize("table", [CDC, OPERATION], ids=lambda table: table.name)
def test_every_fault_has_one_answer_in_order(table: FaultTable) -> None:
    assert [one.fault for one in table.answers()] == table.required


@pytest.mark.parametrize(("table", "one"), CASES)
def test_an_answer_is_shown_by_tests_that_quote_its_number(table: FaultTable, one: Answer) -> None:
    if one.kind == "open" and table is OPERATION:
        assert len(one.answer.partition(":")[2].split()) > 2 and not one.shown_by, one.answer
        return
    one.require_shown("shown", *table.reasoned)
    assert one.kind != "encoder" or one.tests, f"{one.fault} is shown by no test"
    for path, name in one.tests:
        quoted = rf"\b{one.fault}\b|_{one.fault.lower()}_"  # in a text, or in the name of the test
        assert re.search(quoted, functions(path)[name]), f"{path}::{name} does not quote {one.fault}"


def test_enough_faults_of_others_are_shown() -> None:
    assert sum(one.fault[0] == "U" and one.kind == "shown" for one in OPERATION.answers()) >= OTHERS_MIN
