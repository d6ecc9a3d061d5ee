"""The judge of the campaign of seeds finds each way in which a change log may differ from what was noted."""

from __future__ import annotations

import json

import pytest

from e2e.cdc_sweep.cases import OF_RECIPE
from e2e.cdc_sweep.history import CAME, WENT, difference, noted, told
from e2e.cdc_sweep.seeds import RECIPES, short_form

DIGEST = "7215ee9c7d9dc229d2921a40e899ec5f"  # of a blank
NOTED = [(CAME, 1, "a", 1), (CAME, 1, "a", 2), (WENT, 1, "a", 2), (CAME, 1, "a", 3), (CAME, 2, "b", 1)]
WANTED = noted((*one, DIGEST) for one in NOTED)


def message(sign: str, key: int, source: str, seq: int) -> str:
    row = {"id": key, "source": source, "seq": seq, "note": " "}
    return json.dumps({"before": None if sign == CAME else row, "after": None if sign == WENT else row})


MESSAGES = [message(*one) for one in NOTED]
KEY_ALONE = json.dumps({"before": {"id": 1, "source": None, "seq": None, "note": None}, "after": None})


@pytest.mark.parametrize(
    "messages",
    [MESSAGES, MESSAGES[1:], MESSAGES[3:], [*MESSAGES[:2], KEY_ALONE, *MESSAGES[3:]], [*MESSAGES[4:], *MESSAGES[:4]]],
    ids=["whole", "copied later", "copied last", "log of keys", "another order of keys"],
)
def test_the_last_steps_of_each_key_are_a_history(messages: list[str]) -> None:
    assert difference(WANTED, told(messages), {}) == ""


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        (MESSAGES[:4], "key 2 lacks steps"),
        ([*MESSAGES, MESSAGES[4]], "key 2 has another history"),
        ([*MESSAGES[:1], *MESSAGES[2:]], "key 1 has another history"),
        ([*MESSAGES[:2], *MESSAGES[3:]], "key 1 has another history"),
        ([*MESSAGES[:1], MESSAGES[2], MESSAGES[1], *MESSAGES[3:]], "key 1 has another history"),
        (MESSAGES[2:], "key 1 went before it came"),
        ([*MESSAGES, message(CAME, 3, "c", 1)], "1 keys that never were: [3]"),
    ],
    ids=["lost", "twice", "an update lost", "a delete lost", "out of order", "begins with a delete", "invented"],
)
def test_another_history_is_found(messages: list[str], says: str) -> None:
    assert says in difference(WANTED, told(messages), {})


def test_no_late_step_may_lack() -> None:
    """Those before the copy ended may: the copy holds their effect."""
    assert difference(WANTED, told(MESSAGES[3:]), {1: 1}) == ""
    assert "key 1 lacks steps: 1 of 4, 3 of which were late" in difference(WANTED, told(MESSAGES[3:]), {1: 3})


@pytest.mark.parametrize("copied", [0, 1, 3])
def test_a_log_may_tell_again_how_a_copied_row_came(copied: int) -> None:
    """Where the log begins before the copy; but it may not lack what became of the copied row."""
    assert difference(WANTED, told([MESSAGES[copied], *MESSAGES[copied:]]), {}, repeats=True) == ""
    assert difference(WANTED, told([MESSAGES[copied], *MESSAGES[copied + 1 :]]), {}, repeats=True) == ""
    assert difference(WANTED, told([MESSAGES[copied], *MESSAGES]), {}) != ""
    assert difference(WANTED, told([MESSAGES[0], *MESSAGES[2:]]), {}, repeats=True) != ""
    assert difference(WANTED, told([*MESSAGES, MESSAGES[4]]), {2: 1}, repeats=True) != "", "it came later"


def test_the_short_form_has_three_seeds_of_both_databases() -> None:
    """One of them into a log, and one with nearly all types of PostgreSQL."""
    cases = short_form()

    assert {case.recipe for case in cases} <= set(RECIPES) and set(OF_RECIPE) <= set(RECIPES)
    assert len({case.seed for case in cases}) == 3
    assert {case.recipe for case in cases} >= {"mariadb to files", "postgres two-phase"}
