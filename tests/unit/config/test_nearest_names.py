"""The nearest name of a problem is data: the editor of the page has a button for it, and each text shows it once."""

from __future__ import annotations

import pytest

from seatunnel_py.errors import Problem


@pytest.mark.parametrize(
    ("message", "left", "suggestion"),
    [
        ("'bigintt': unknown type 'bigintt'; did you mean 'bigint'?", "'bigintt': unknown type 'bigintt'", "bigint"),
        ("no column 'idd'; did you mean 'id'? (columns: id)", "no column 'idd'; did you mean 'id'? (columns: id)", ""),
        ("unknown option", "unknown option", ""),
    ],
)
def test_a_message_gives_the_nearest_name_up(message: str, left: str, suggestion: str) -> None:
    """Only at its end, so that the text of the problem is as it was."""
    found = Problem(message, "job.conf", 1, 2)
    assert (found.message, found.suggestion) == (left, suggestion)
    assert str(found) == f"job.conf:1:2: {message}"


def test_a_name_that_is_given_twice_is_shown_once() -> None:
    """The part that knows the name, and the message, both have it; another name stays where it is."""
    assert str(Problem("no 'a'; did you mean 'b'?", suggestion="b")) == "job file: no 'a'; did you mean 'b'?"
    assert Problem("no 'a'; did you mean 'b'?", suggestion="c").message == "no 'a'; did you mean 'b'?"
