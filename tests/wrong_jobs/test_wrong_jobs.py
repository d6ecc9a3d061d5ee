"""Every wrong job file gets its message: place, cause, remedy, nearest name. Nothing is opened to find out."""

from __future__ import annotations

import re

import pytest

from tests.wrong_jobs import EXPECTED, JOBS, read, verdict

EXPECTATIONS = read(EXPECTED)


def test_there_are_enough_of_them() -> None:
    """Bar 7 asks for eighty."""
    assert len(read(JOBS)) >= 80
    assert list(read(JOBS)) == list(EXPECTATIONS)


@pytest.mark.parametrize(("name", "text"), read(JOBS).items(), ids=list(read(JOBS)))
def test_the_message_is_the_expected_one(name: str, text: str) -> None:
    """Messages are part of the product: a change of one is seen and decided on."""
    assert verdict(text) == EXPECTATIONS[name]


@pytest.mark.parametrize(("name", "message"), EXPECTATIONS.items(), ids=list(EXPECTATIONS))
def test_every_message_says_where(name: str, message: str) -> None:
    """A line and a column, unless the file as a whole is meant; and never that a wrong job is valid."""
    assert message != "VALID\n"
    assert re.search(r"^(job\.conf(:\d+:\d+)?|command line|DIR/|-i).*: ", message, flags=re.MULTILINE)
