"""The short form of `python -m tests.model.check`: one instance that holds and two mutants that are found."""

from __future__ import annotations

import pytest

from tests.model import check, spin
from tests.model.instances import INSTANCES, MUTANTS, Instance, Mutant
from tests.servers.process import ServerMissing

BY_NAME = {each.name: each for each in (*INSTANCES, *MUTANTS)}
REPORT = """
Full statespace search for:
State-vector 348 byte, depth reached 245, errors: {errors}
   893858 states, stored
"""


@pytest.fixture(scope="module")
def tools() -> None:
    try:
        for program in spin.PACKAGES:
            spin.find(program)
    except ServerMissing as missing:
        pytest.skip(f"the model checker is not here: {missing}")


@pytest.mark.usefixtures("tools")
def test_smallest_instance_holds() -> None:
    """All checks hold in every state, every run ends, and the search was a whole one."""
    found = check.search(BY_NAME["smallest"])
    assert found.violated is None
    assert found.states > 10_000


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(
    ("name", "violated"),
    [("no-channel-state", "I8 consistent cut"), ("commit-before-completion", "I27 commit of completed")],
)
def test_mutant_is_found(name: str, violated: str) -> None:
    """A rule that is left out is missed by the check that stands for it."""
    assert check.search(BY_NAME[name]).violated == violated


def test_report_of_a_whole_search() -> None:
    found = check.parse(REPORT.format(errors=0), 1.0)
    assert (found.states, found.depth, found.violated) == (893858, 245, None)


@pytest.mark.parametrize(
    "report",
    [
        "",
        "Bit" + REPORT.format(errors=0).replace("Full ", ""),
        "error: max search depth too small\n" + REPORT.format(errors=0),
        "Warning: Search not completed\n" + REPORT.format(errors=0),
        "pan: reached -DMEMLIM bound\n" + REPORT.format(errors=0),
        REPORT.format(errors=1),
        "pan:1: invalid end state (at depth 57)\n" + REPORT.format(errors=0),
    ],
)
def test_a_search_that_was_cut_short_is_no_verdict(report: str) -> None:
    """Depth, memory, bitstate, an error nobody explains: none of them may read as "holds"."""
    with pytest.raises(check.SearchFailed):
        check.parse(report, 1.0)


@pytest.mark.parametrize(
    ("complaint", "rule"),
    [
        ("assertion violated ((visible==15)||I1_no_loss)", "I1 no loss"),
        ("invalid end state", "I13 nothing can go on"),
        ("non-progress cycle", "I12 runs for ever"),
    ],
)
def test_an_error_is_named_by_its_rule(complaint: str, rule: str) -> None:
    report = f"pan:1: {complaint} (at depth 12)\nWarning: Search not completed\n" + REPORT.format(errors=1)
    assert check.parse(report, 1.0).violated == rule


def test_names_are_unique() -> None:
    assert len(BY_NAME) == len(INSTANCES) + len(MUTANTS)
    assert all(isinstance(each, Instance | Mutant) for each in BY_NAME.values())
