"""Only the newest driver of a job empties a target while the job runs: rows of a newer one stay (I34)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from seatunnel_connectors.jdbc.mysql import target_dialect
from seatunnel_connectors.jdbc.postgres.write import alter
from seatunnel_connectors.jdbc.statements.ledger_tables import StatementLedger
from seatunnel_py.api import FatalError
from seatunnel_py.api.process.resources import close_all
from seatunnel_py.errors import SeaTunnelError
from tests.connectors.jdbc.exactly_once import BEFORE, Target, maria_target, postgres_target, target

__all__ = ["target"]


@pytest.mark.parametrize("recipe", ["staged", "direct"])
def test_the_newest_driver_empties_its_target(target: Target, recipe: str) -> None:
    target.plan(recipe=recipe)
    target.commit(1, target.stage("u1", ("+I", 1, "a")))
    assert target.sink.committer().recover(target.context(0, incarnation=2)) == 1

    for _ in range(2):  # a killed driver's successor does it again
        target.sink.truncate(target.setup, target.context(0, incarnation=2))
    assert target.rows == []
    target.commit(2, target.stage("u2", ("+I", 2, "b"), incarnation=2), incarnation=2)
    assert target.rows == [(2, "b")]


@pytest.mark.parametrize("recipe", ["staged", "direct"])
@pytest.mark.parametrize("announced", ["by recovery", "by emptying", "by a unit"])
def test_an_overtaken_driver_empties_nothing(target: Target, recipe: str, announced: str) -> None:
    target.plan(recipe=recipe)
    newer = target.context(0, incarnation=2)
    if announced == "by recovery":
        target.sink.committer().recover(newer)
    elif announced == "by emptying":
        target.sink.truncate(target.setup, newer)
    before = target.rows
    target.commit(1, target.stage("u1", ("+I", 1, "a"), incarnation=2), incarnation=2)

    with pytest.raises(FatalError, match="fenced off"):
        target.sink.truncate(target.setup, target.context(0))
    assert target.rows == [*before, (1, "a")]


def test_a_target_without_a_ledger_is_emptied(target: Target) -> None:
    """Its job has died before it set the target up."""
    target.plan(set_up=False)
    target.sink.truncate(target.setup, target.context(0))
    assert target.rows == []


@pytest.mark.parametrize(
    "make", [pytest.param(postgres_target, marks=pytest.mark.postgres), maria_target], ids=["postgres", "mariadb"]
)
def test_a_driver_that_stalls_before_it_empties_a_target_loses_its_session(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, make: Callable[[Any], Target]
) -> None:
    """It was the newest when it looked. SQLite has no session to end: its file stays locked until the driver goes on."""
    target = make(request)
    target.plan(recipe="direct")
    target.commit(1, target.stage("u1", ("+I", 1, "a")))
    stalled, goes_on = Event(), Event()
    monkeypatch.setattr(target_dialect, "STILL_SECONDS", 1)
    monkeypatch.setitem(alter.LIMITS, "idle_in_transaction_session_timeout", 1)
    place, name = (alter, "announce") if make is postgres_target else (StatementLedger, "announce")
    announce = getattr(place, name)

    def stalls(*arguments: Any) -> None:
        announce(*arguments)
        stalled.set()
        assert goes_on.wait(60)

    with monkeypatch.context() as patched, ThreadPoolExecutor(1) as thread:
        patched.setattr(place, name, stalls)
        older = thread.submit(target.sink.truncate, target.setup, target.context(0))
        assert stalled.wait(60)
        assert target.sink.committer().recover(target.context(1, incarnation=2)) == 1
        target.commit(2, target.stage("u2", ("+I", 2, "b"), incarnation=2), incarnation=2)
        goes_on.set()
        with pytest.raises(SeaTunnelError):
            older.result(60)
    close_all()
    assert target.rows == [BEFORE, (1, "a"), (2, "b")]
