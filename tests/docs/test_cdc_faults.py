"""Every fault of change data capture has its answer, and tests that quote its number."""

from __future__ import annotations

import re

import pytest

from tests.docs.cdc_faults import REQUIRED, faults
from tests.docs.trials import Answer, functions


def test_every_fault_has_one_answer_in_order() -> None:
    assert [one.fault for one in faults()] == REQUIRED


@pytest.mark.parametrize("one", faults(), ids=lambda one: one.fault)
def test_an_answer_is_shown_by_tests_that_quote_its_number(one: Answer) -> None:
    one.require_shown("shown", "encoder", "decision")
    assert one.kind != "encoder" or one.tests, f"{one.fault} is shown by no test"
    for path, name in one.tests:
        assert re.search(rf"{one.fault}\b", functions(path)[name]), f"{path}::{name} does not quote {one.fault}"
