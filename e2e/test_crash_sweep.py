"""The sweep itself: it passes every failpoint there is, and its judge finds what is wrong."""

from __future__ import annotations

from itertools import islice

import pytest

from e2e.cdc_sweep import cases as cdc_sweep
from e2e.crash_sweep.cases import BY_OTHERS, MOMENTS, Victim, is_moment, long_form, short_form
from e2e.crash_sweep.judge import Glance, Row, Seen, content, glances, order
from e2e.crash_sweep.recipes import RECIPES
from e2e.crash_sweep.report import Damage, Outcome, by_moment, verdict
from seatunnel_py.api.process.failpoints import declared
from tests.contracts.test_killable import imported

WANTED: list[Row] = [("big", split, seq) for split in (0, 1) for seq in (1, 2, 3)]


def test_every_failpoint_is_swept() -> None:
    """A recipe whose moments nobody kills at has promised, and not shown."""
    imported()
    ours = {name for name in declared() if not name.startswith(("example.", "toy.", "kit."))}  # the kit drives its own

    swept = {kill.point for case in long_form() for kill in case.kills}
    swept |= {kill.point for case in cdc_sweep.long_form() for kill in case.kills if kill.point}

    assert ours - swept - set(BY_OTHERS) == set()
    assert swept <= ours, "a case waits for a failpoint that does not exist"


@pytest.mark.parametrize("recipe", list(cdc_sweep.OF_RECIPE))
def test_jobs_that_follow_a_log_are_killed_five_hundred_times(recipe: str) -> None:
    """Each recipe at each failpoint that it passes, and each other victim several times."""
    cases = cdc_sweep.long_form()
    kills = [kill for case in cases if case.recipe == recipe for kill in case.kills]
    points = {kill.point for kill in kills}

    assert sum(len(case.kills) for case in cases) >= 500
    assert {*cdc_sweep.RUNNING, *cdc_sweep.OF_RECIPE[recipe]} <= points
    for victim in set(cdc_sweep.Victim) - ({cdc_sweep.Victim.TARGET} if "files" in recipe else set()):
        assert sum(kill.victim is victim for kill in kills) >= 8


@pytest.mark.parametrize("recipe", list(RECIPES))
@pytest.mark.parametrize("moment", list(MOMENTS))
def test_the_driver_dies_at_every_moment_of_every_recipe(recipe: str, moment: str) -> None:
    """The twelve crash points of a commit (F7), also between a write and its durability (F25), and the driver that is
    overtaken (F8)."""
    kills = [
        (kill.victim, f"{kill.point}@{kill.hit}")
        for case in long_form()
        if case.recipe == recipe
        for kill in case.kills
    ]

    assert any(victim is Victim.DRIVER and is_moment(moment, at) for victim, at in kills)
    assert any(victim is Victim.OLDER for victim, _ in kills)


def test_a_chunk_has_something_of_every_recipe() -> None:
    """Wherever it ends."""
    assert {case.recipe for case in islice(long_form(), len(RECIPES))} == set(RECIPES)


def test_figures_come_from_what_was_found() -> None:
    """Rows are added up, jobs are counted; what did not end is no success."""
    found = [
        Outcome("a", "r", ("driver at driver.record.before@1",), ("T: 3 rows lost: x", "T: 2 rows duplicated: y"), 1.0),
        Outcome("b", "r", (), ("left behind: z", "the job does not end: no"), 1.0),
        Outcome("c", "r", ("server at x@1",), (), 1.0),
    ]

    assert Damage.of(found) == Damage(3, 2, 3, 2, 1, 1, 2)
    assert ("p5 all have acknowledged, nothing is stored", 1, 1) in by_moment(found)
    assert "NOT REACHED" in verdict(found, bar=2)


def test_the_short_form_is_a_part_that_kills_forty_times() -> None:
    """Its size is what a change can wait for."""
    assert sum(len(case.kills) for case in short_form()) >= 40


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (WANTED[1:], "1 rows lost: big/0#1"),
        ([*WANTED, WANTED[0]], "1 rows duplicated: big/0#1"),
        ([*WANTED[1:], WANTED[1]], "1 rows lost"),
        ([*WANTED, ("small", 0, 1)], "1 rows never sent: small/0#1"),
    ],
)
def test_rows_are_compared_one_by_one(found: list[Row], words: str) -> None:
    """A lost and a doubled row do not cancel."""
    assert any(words in problem for problem in content(WANTED, found))
    assert content(WANTED, WANTED[::-1]) == []


def test_order_is_that_of_each_split() -> None:
    """Splits may be mixed, rows of one may not be."""
    mixed = [WANTED[0], WANTED[3], WANTED[1], WANTED[4], WANTED[2], WANTED[5]]

    assert order(mixed) == []
    assert order([WANTED[1], WANTED[0]]) == ["1 rows out of order: big/0#1"]


@pytest.mark.parametrize(
    ("seen", "looks"),
    [
        (Seen.ALL, [{("big", 0): (3, 3)}]),
        (Seen.PREFIX, [{("big", 0): (1, 2)}]),
        (Seen.GROWING, [{("big", 0): (2, 2)}, {("big", 0): (1, 1)}]),
    ],
)
def test_a_reader_never_sees_half_an_epoch(seen: Seen, looks: list[dict[tuple[str, int], tuple[int, int]]]) -> None:
    """Nor that what was there is gone."""
    whole = Glance({("big", 0): (3, 3), ("big", 1): (3, 3)})

    assert glances(WANTED, seen, [Glance(look) for look in looks])
    assert not glances(WANTED, seen, [Glance({}), whole])
