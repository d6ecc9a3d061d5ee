"""A table fails for good in a pipeline that runs, is left out, and comes back: coordinator and participants together."""

from __future__ import annotations

from collections import Counter

import pytest

from seatunnel_py.protocol.coordinator import commands as cc
from seatunnel_py.protocol.coordinator import events as ev
from tests.protocol.whole_link import BAD, GOOD, SOURCE, WholeLink

SEEDS = range(40)


def every(last: int) -> Counter[object]:
    return Counter(100 + row for row in range(last))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_others_arrive_wholly_and_the_table_as_far_as_it_stands(seed: int) -> None:
    """I1, I2, I21, IS4, LE2, LE4: and nobody waits for it or for room on its channel."""
    link = WholeLink(seed).drive()
    isolated = link.until(cc.Isolated)
    lives = {name: link.epochs[name] for name in (SOURCE, GOOD)}
    link.limit = link.total

    assert link.until(cc.PipelineEnded) == cc.PipelineEnded(None)
    assert link.rows(GOOD) == every(link.total)
    assert link.rows(BAD) == every(link.read_at(isolated.stand_at))
    assert {name: link.epochs[name] for name in lives} == lives


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("crash", [False, True], ids=["same driver", "later driver"])
def test_a_table_that_comes_back_has_every_row_once(seed: int, crash: bool) -> None:
    """I1, I2, I21, IS5, IS8, RJ2, RJ3, RJ4: what it missed is brought, what comes then is sent to it again; where the
    source is not there yet the attempt is given up, and another one made."""
    link = WholeLink(seed).drive()
    isolated = link.until(cc.Isolated)
    if crash:
        link.drive()
    link.sick = False
    link.run(link.random.randint(50, 200))
    link.limit += 10
    lives = {name: link.epochs[name] for name in (SOURCE, GOOD)}
    brought = link.brought(isolated.stand_at)

    for _ in range(40):
        link.hear(ev.RejoinRequested(link.now, ("bad",), {SOURCE: link.limit}, brought))
        link.run(link.random.randint(1, 60))
        if link.said_of(cc.Rejoined):
            break
    else:
        link.until(cc.Rejoined)
    link.limit = link.total

    assert link.until(cc.PipelineEnded) == cc.PipelineEnded(None)
    assert link.rows(GOOD) == every(link.total)
    assert link.rows(BAD) == every(link.total)
    assert {name: link.epochs[name] for name in lives} == lives, "nobody restarted for it"
