"""What does not die but fails: at the moments at which a process can be killed it raises an error instead.

Rows carry (source, split, seq). An error that passes costs nothing; one that stays ends the job with its first cause,
and once that is mended the job goes on to the same content.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.crash_sweep import judge
from e2e.crash_sweep.place import Lane, Place
from e2e.crash_sweep.recipes import RECIPES
from e2e.support import IN_PROCESS, Finished, events, failing, finish, start, write_job

NAMES = ["postgres staged", "postgres direct", "postgres shadow", "sqlite", "sqlite staged", "files json"]


@pytest.fixture(scope="module")
def lane() -> Iterator[Lane]:
    found = Lane()
    yield found
    found.close()


class Case:
    """One job whose attempts and restarts are few, so that errors can use them up."""

    def __init__(self, name: str, home: Path, lane: Lane) -> None:
        self.recipe, self.home = RECIPES[name], home
        (self.target,) = self.recipe.targets
        self.place = Place(home.name.replace("-", "_")[-40:], home, lane)
        self.recipe.source.prepare(self.place, list(self.recipe.wanted()))
        self.target.prepare(self.place)
        few = "job.retry.times = 2, job.retry.interval.seconds = 1"
        write_job(home, self.recipe.job(self.place, paced=False, tries=few))
        self._runs = 0

    def run(self, armed: str = "", *more: str) -> Finished:
        self._runs += 1
        env = failing(armed, self.home / f"points{self._runs}") if armed else {}
        return finish(
            start(self.home, "run", "job.conf", "--job-id", "job", "--json", *more, env=env, program=IN_PROCESS)
        )

    def events(self, name: str) -> list[dict[str, Any]]:
        return events(self.home, name)

    @property
    def pauses(self) -> list[float]:
        """Before another try to go on, of all drivers."""
        return [event["delay_seconds"] for event in self.events("unit_retried") if event["unit"] == "prepare"]

    def judge(self) -> None:
        """Nothing is missing, twice, or in another order; nothing is left behind."""
        found = self.target.rows(self.place)
        assert judge.rows(self.recipe.wanted(), found, ordered=self.target.ordered) == []
        assert list(self.target.left_behind(self.place)) == []


@pytest.mark.parametrize("moment", ["worker.stage.before", "worker.stage.after"])
@pytest.mark.parametrize("name", NAMES)
def test_a_snapshot_that_fails_is_taken_again(name: str, moment: str, lane: Lane, tmp_path: Path) -> None:
    """F2: a sink cannot stage what it was given, or its worker fails behind that: the unit is made again, and where its
    attempts are used up its vertex begins another life."""
    case = Case(name, tmp_path, lane)

    run = case.run(f"{moment}:error@2-6")

    assert run.code == 0, run.out + run.err
    case.judge()
    assert case.events("unit_retried"), "nothing has failed"


@pytest.mark.parametrize("name", NAMES)
def test_a_restore_that_fails(name: str, lane: Lane, tmp_path: Path) -> None:
    """F3: always, and the job ends with its cause; twice, and the pauses between the tries grow."""
    case = Case(name, tmp_path, lane)
    assert case.run("worker.stage.after:kill@4").code == -9

    ended = case.run("driver.takeover.fenced:error@1-", "--restore", "latest")

    assert ended.code == 1
    (table,) = ended.receipt["tables"]
    assert table["cause"]["message"] == "failpoint driver.takeover.fenced"
    assert len(case.pauses) == 2, "it was not tried again, or for ever"

    run = case.run("driver.takeover.fenced:error@1-2", "--restore", "latest")

    assert run.code == 0, run.out + run.err
    case.judge()
    first, second = case.pauses[2:]
    assert 0 < first < second


@pytest.mark.parametrize("name", NAMES)
def test_a_life_that_cannot_begin_ends_the_job_with_its_cause(name: str, lane: Lane, tmp_path: Path) -> None:
    """F3: every unit fails before it has done anything, from the tenth on: attempts, then lives, then the end."""
    case = Case(name, tmp_path, lane)

    run = case.run("worker.unit.began:error@10-")

    assert run.code == 1
    (table,) = run.receipt["tables"]
    assert table["cause"]["message"] == "failpoint worker.unit.began"
    assert case.events("region_restarted"), "no life was begun anew"
    assert table["rows_written"] <= case.target.glance(case.place).rows, "people are told of rows that nobody sees"
    again = case.run("", "--restore", "latest")
    assert again.code == 0, again.out + again.err
    case.judge()
