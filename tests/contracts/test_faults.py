"""Every fault that is to be survived, and every invariant that is to hold, has a test that says so by its number.

The numbers are those of the tables that the protocol was designed against: a fault (F) is an injection and an outcome
(rows exact after a restart, or a loud stop), an invariant (I) what no run may violate.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NUMBERS = {"F": range(1, 52), "I": range(1, 51)}
NO_CDC = "change data capture is not built yet"
OUT_OF_SCOPE = {
    "F35": f"a replication slot is lost: {NO_CDC}",
    "F36": f"an idle database while a slot waits: {NO_CDC}",
    "F47": "an object store as a target: files are written to file systems only",
    "F49": "an HTTP source: there is none",
}
_REAL = (1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 19, 22, 24, 25, *range(28, 35), 37, 38, *range(40, 47), 48, 50, 51)
REAL = {f"F{number}" for number in _REAL}
"""Faults that real processes, servers or files are to show, not a simulation alone."""
ONLY_SIMULATED = {"F11"}
"""Of these, what nothing real shows yet."""
_SIMULATED = ("simulation", "protocol", "mutants", "model")
_NUMBER = re.compile(r"\b[FI]\d{1,2}\b")


def quoted(*without: str) -> set[str]:
    files = (path for folder in ("tests", "e2e") for path in (ROOT / folder).rglob("*.py") if path != Path(__file__))
    counted = (path for path in files if path.relative_to(ROOT).parts[1] not in without)
    return {number for path in counted for number in _NUMBER.findall(path.read_text())}


@pytest.mark.parametrize("letter", NUMBERS)
def test_every_number_is_quoted_by_a_test_or_out_of_scope(letter: str) -> None:
    wanted = {f"{letter}{number}" for number in NUMBERS[letter]}

    assert sorted(wanted - quoted() - OUT_OF_SCOPE.keys()) == []


def test_what_is_out_of_scope_has_no_test() -> None:
    """Else it has come into scope."""
    assert sorted(OUT_OF_SCOPE.keys() & quoted()) == []


def test_what_real_processes_are_to_show_is_shown_by_them() -> None:
    assert REAL - quoted(*_SIMULATED) == ONLY_SIMULATED
