"""A job that is not needed any more leaves nothing at its source, and nothing is dropped that a restore could read from
(F-C40: slots remain)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from e2e.cdc.following_job import SECONDS
from e2e.cdc.test_bounded_postgres_cdc import batch, run
from e2e.cdc.test_postgres_cdc import TABLES, Followed, followed, logical
from e2e.support import Finished, finish, seatunnel, start, wait_for

__all__ = ["followed", "logical"]
WHEN_FINISHED = "slot.drop = when-finished"
GOES_ON = ("--restore", "latest")


@pytest.fixture
def job(followed: Followed) -> Followed:
    return followed


def at_source(job: Followed) -> tuple[list[str], list[str]]:
    """The slots of the source database, and its publications."""
    with job.pair.connect(job.pair.source) as db:
        slots = db.execute("SELECT slot_name::text FROM pg_replication_slots WHERE database = current_database()")
        publications = db.execute("SELECT pubname::text FROM pg_publication")
        return sorted(name for (name,) in slots), sorted(name for (name,) in publications)


def drop(job: Followed, *more: str) -> Finished:
    return seatunnel(job.home, "jobs", "drop", "job", *more)


def follow(job: Followed, source: str = "") -> None:
    """Follow the tables, and stop with a savepoint."""
    job.write(source=source)
    job.run()
    job.wait_equal()


def stop(job: Followed, name: str) -> None:
    assert seatunnel(job.home, "jobs", "savepoint", "job", "--name", name, "--stop").code == 0
    assert job.process is not None
    finish(job.process, SECONDS)


@pytest.mark.parametrize("name", ["", ", slot.name = mine_{}"], ids=["own", "given"])
def test_a_job_that_ends_for_good_drops_what_it_has_made(job: Followed, name: str) -> None:
    """Also after a run that was killed before its end."""
    batch(job, WHEN_FINISHED + name.format(job.pair.source.lower()))
    killed = job.run_to_failpoint("driver.commit.after:kill")
    wait_for("the driver to die", lambda: killed.poll() is not None, SECONDS)
    assert len(at_source(job)[0]) == 1
    receipt = run(job, *GOES_ON)
    assert all(map(job.equal, TABLES))
    assert at_source(job) == ([], [])
    assert not receipt["goes_on"]
    assert sum("was dropped" in one for one in receipt["notes"]) == 2
    again = seatunnel(job.home, "run", "job.conf", "--job-id", "job", *GOES_ON)
    assert again.code == 0 and "has finished" in again.out
    assert seatunnel(job.home, "jobs", "rm", "job").code == 0


def test_a_job_that_goes_on_keeps_its_slot(job: Followed) -> None:
    batch(job)
    receipt = run(job)
    assert receipt["goes_on"]
    assert [len(names) for names in at_source(job)] == [1, 1]


def test_nothing_is_dropped_that_a_restore_could_read_from(job: Followed) -> None:
    """A running job, a savepoint, and the checkpoints of the job itself: these go first, and only if the user says so."""
    follow(job)
    before = at_source(job)
    assert [len(names) for names in before] == [1, 1]
    refused = drop(job, "--yes")
    assert refused.code == 1 and "is running" in refused.err
    stop(job, "mine")
    refused = drop(job, "--yes")
    assert refused.code == 1 and "the savepoint 'mine' reads from there" in refused.err
    assert seatunnel(job.home, "state", "drop", "mine").code == 0
    shown = drop(job)
    assert shown.code == 1 and "nothing was done yet" in shown.err
    assert f"the replication slot '{before[0][0]}', which keeps" in shown.out
    kept = seatunnel(job.home, "jobs", "rm", "job", "--unfinished")
    assert kept.code == 1 and "`seatunnel jobs drop job --yes` gives the job up" in kept.out
    assert at_source(job) == before
    job.run(*GOES_ON)  # everything is still there
    job.execute(job.pair.source, "UPDATE orders SET seq = seq + 1")
    job.wait_equal()
    job.end()

    done = drop(job, "--yes", "--json")

    facts: dict[str, Any] = json.loads(done.out)
    assert done.code == 0 and facts["done"]
    assert [one["kept"] for one in facts["leftovers"]] == ["", ""]
    assert at_source(job) == ([], [])
    assert job.equal("orders")
    refused = seatunnel(job.home, "run", "job.conf", "--job-id", "job", *GOES_ON)
    assert refused.code == 1 and "was given up" in refused.err and "--fresh" in refused.err
    again = drop(job, "--yes")
    assert again.code == 0 and "left nothing" in again.out
    assert seatunnel(job.home, "jobs", "rm", "job").code == 0, "given up: nothing goes on with it"
    assert not list((job.home / ".seatunnel/jobs").iterdir())


def test_a_job_that_started_from_a_savepoint_keeps_the_slot(job: Followed) -> None:
    """F-C18: it reads from the slot of the job that took the savepoint."""
    follow(job)
    stop(job, "mine")
    other = start(job.home, "run", "job.conf", "--job-id", "other", "--restore", "mine")
    try:
        job.execute(job.pair.source, "UPDATE orders SET seq = seq + 1")
        wait_for("the other job to follow", lambda: job.equal("orders"), SECONDS)
        assert seatunnel(job.home, "state", "drop", "mine").code == 0
        refused = drop(job, "--yes")
        assert refused.code == 1 and "the job 'other' started from a savepoint of this job" in refused.err
        assert "`seatunnel jobs drop other` gives that job up" in refused.err
    finally:
        assert seatunnel(job.home, "jobs", "cancel", "other").code == 0
        finish(other, SECONDS)
    assert drop(job, "--yes").code == 1, "a job that was cancelled may go on"
    assert len(at_source(job)[0]) == 1
    given_up = seatunnel(job.home, "jobs", "drop", "other", "--yes")
    assert given_up.code == 0 and "cannot go on afterwards either" in given_up.out
    assert at_source(job) == ([], [])
    assert drop(job, "--yes").code == 0
    assert seatunnel(job.home, "jobs", "rm", "job", "other").code == 0


def test_what_the_job_has_not_made_stays(job: Followed) -> None:
    """A slot that was there before, and a publication of the user."""
    name = f"theirs_{job.pair.source.lower()}"
    job.execute(
        job.pair.source,
        "CREATE PUBLICATION theirs FOR TABLE orders, customers, lines",
        f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')",
    )
    follow(
        job,
        f", slot.name = {name}, slot.reuse = true, publication.name = theirs, publication.autocreate.mode = disabled",
    )
    job.end()
    done = drop(job, "--yes")
    assert done.code == 0
    assert (
        f"pg_drop_replication_slot('{name}') drops it" in done.out and 'DROP PUBLICATION "theirs" drops it' in done.out
    )
    assert at_source(job) == ([name], ["theirs"])
    job.execute(job.pair.source, f"SELECT pg_drop_replication_slot('{name}')")
