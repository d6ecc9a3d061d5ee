"""What a target remembers of jobs goes when all of it has been over for long enough, by the target's clock, not before."""

from __future__ import annotations

import random
from typing import Any

import pytest

from seatunnel_py.api import CommitContext
from tests.connectors.jdbc.exactly_once import Target, target

__all__ = ["target"]

KEEP_DAYS = 30
STEPS = ("one", "two", "three")


class Ledger:
    """What should stand in the ledger, beside the ledger itself: for each (lineage, step) the days since it ended."""

    def __init__(self, target: Target) -> None:
        target.plan(recipe="direct")
        self.target = target
        self.committer = target.sink.committer()
        self.postgres = target.options["url"].startswith("jdbc:postgres")
        self.rows: dict[tuple[str, str], int | None] = {}
        self.drivers: dict[str, int] = {}

    def context(self, lineage: str, step: str, checkpoint: int = 1, **more: Any) -> CommitContext:
        driver = self.drivers.setdefault(lineage, 1)
        return CommitContext(lineage, lineage, step, checkpoint, driver, setup=self.target.setup.data, **more)

    def commit(self, lineage: str, step: str, *, final: bool) -> None:
        self.committer.commit((), self.context(lineage, step, final=final))
        self.rows.setdefault((lineage, step), None)

    def go_on(self, lineage: str, step: str) -> None:
        """A later driver fences the older ones."""
        self.drivers[lineage] = self.drivers.get(lineage, 1) + 1
        self.committer.recover(self.context(lineage, step))
        self.rows[lineage, step] = None

    def restart(self, job: str, lineage: str, step: str) -> None:
        """The same job under another lineage: the older one is nobody's."""
        context = CommitContext(job, lineage, step, 0, setup=self.booked)
        assert self.committer.begin(context, fresh=True) is None
        if self.rows.get((job, step), 0) is None:
            self.rows[job, step] = 0

    @property
    def booked(self) -> Any:
        return {**self.target.setup.data, "booked": True}

    def end(self, lineage: str) -> None:
        self.committer.lineage_ended(self.context(lineage, STEPS[0]), KEEP_DAYS)
        for key, ended in self.rows.items():
            if key[0] == lineage and ended is None:
                self.rows[key] = 0
        alive = {name for (name, _), ended in self.rows.items() if ended is None or ended <= KEEP_DAYS}
        self.rows = {key: ended for key, ended in self.rows.items() if key[0] in alive}

    def days_pass(self, days: int) -> None:
        """The clock is the target's, so what it has written grows older instead."""
        by = f"interval '{days} days'" if self.postgres else f"{days * 86_400}"
        schema = "b." if self.postgres else ""
        self.target.run(f"UPDATE {schema}seatunnel_ledger SET ended_at = ended_at - {by}")
        self.rows = {key: None if ended is None else ended + days for key, ended in self.rows.items()}

    def check(self) -> None:
        schema = "b." if self.postgres else ""
        found = self.target.ask(f"SELECT lineage, step FROM {schema}seatunnel_ledger")
        assert set(found) == set(self.rows)


def test_a_lineage_is_swept_when_its_job_has_been_over_for_long_enough(target: Target) -> None:
    ledger = Ledger(target)
    ledger.commit("old", "one", final=True)
    ledger.end("old")
    ledger.days_pass(29)
    ledger.end("other")
    ledger.check()
    ledger.days_pass(2)
    ledger.end("other")
    assert ledger.rows == {}
    ledger.check()


def test_what_a_failed_table_leaves_to_be_gone_on_with_is_never_swept(target: Target) -> None:
    """I28, I31: of its job the other tables are finished, and their last commits come again when it goes on; without
    these rows they would be taken for lost. The failed one may never have written a row here."""
    ledger = Ledger(target)
    piece = target.stage("u1", ("+I", 1, "a"))
    context = ledger.context("half", "one", final=True)
    ledger.committer.commit([piece], context)
    ledger.rows["half", "one"] = None
    ledger.days_pass(1_000)
    ledger.end("other")
    ledger.check()

    assert ledger.committer.recover(ledger.context("half", "one")) == 1
    before = target.rows
    ledger.committer.commit([piece], context)
    assert target.rows == before


def test_who_goes_on_with_a_lineage_that_had_ended_keeps_it(target: Target) -> None:
    """A savepoint of it, say: an older driver that only now comes to its end says nothing any more."""
    ledger = Ledger(target)
    ledger.commit("kept", "one", final=True)
    ledger.end("kept")
    late = ledger.context("kept", "one")
    ledger.go_on("kept", "one")
    ledger.committer.lineage_ended(late, KEEP_DAYS)
    ledger.days_pass(100)
    ledger.end("other")
    assert ledger.rows == {("kept", "one"): None}
    ledger.check()


@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_only_what_has_ended_long_ago_is_gone(target: Target, seed: int) -> None:
    ledger, order = Ledger(target), random.Random(seed)
    swept = 0
    for _ in range(60):
        lineage, step = order.choice(("a", "b", "c")), order.choice(STEPS)
        before = len(ledger.rows)
        match order.choice(("commit", "commit", "final", "end", "end", "days", "days", "on", "anew")):
            case "commit" | "final" as which if ledger.rows.get((lineage, step), None) is None:
                ledger.commit(lineage, step, final=which == "final")
            case "end":
                ledger.end(lineage)
            case "on":
                ledger.go_on(lineage, step)
            case "anew":
                ledger.restart(lineage, f"{lineage}+", step)
            case _:
                ledger.days_pass(order.choice((9, 14, 31)))
        swept += max(0, before - len(ledger.rows))
        ledger.check()
    assert swept, "nothing was ever swept"
