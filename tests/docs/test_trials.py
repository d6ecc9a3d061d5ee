"""The table of faults is whole, and shows nothing that does not exist."""

from __future__ import annotations

import pytest

from tests.docs.trials import Answer, answers, required


def test_every_numbered_fault_has_an_answer() -> None:
    named = {one.fault for one in answers()}
    assert required() <= named, sorted(required() - named)


@pytest.mark.parametrize("one", answers(), ids=lambda one: f"{one.file}:{one.fault}")
def test_an_answer_is_shown_by_something_that_exists(one: Answer) -> None:
    one.require_shown("fixed", "decision", "open")
