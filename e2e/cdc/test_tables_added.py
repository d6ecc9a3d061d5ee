"""Tables that are added to a job are copied, and join the log that the job follows. No change of a table is lost (F-C45)."""

from __future__ import annotations

import time
from random import Random

import pytest

from e2e.cdc.following_job import SECONDS
from e2e.cdc.test_postgres_cdc import TABLES, Followed, followed, logical, wait_appended, write_appending
from e2e.cdc.workload import Workload
from e2e.support import finish, kill_driver, wait_alive, wait_for

__all__ = ["followed", "logical"]
TWO_PHASE = ", is_exactly_once = true"
GOES_ON = ("--restore", "latest")


def errors(followed: Followed) -> str:
    return (followed.home / "errors").read_text()


def begin(followed: Followed, tables: tuple[str, ...], sink: str) -> None:
    """Follow these tables, and kill the driver once its log has begun."""
    followed.write(sink, tables=tables)
    followed.run()
    followed.wait_equal(tables)
    insert(followed, 4000)
    followed.wait_equal(tables)
    followed.end()


@pytest.mark.parametrize("sink", ["", TWO_PHASE], ids=["by key", "two-phase"])
@pytest.mark.parametrize("before", [TABLES[:1], TABLES[:2]], ids=["one", "two"])
def test_an_added_table_is_copied_and_followed(followed: Followed, sink: str, before: tuple[str, ...]) -> None:
    """F-C45: also beside a single table, whose log had no channel. Later the job file names them in another order."""
    begin(followed, before, sink)
    followed.write(sink, tables=TABLES)
    with Workload(followed.source_dsn, TABLES, 1), Workload(followed.source_dsn, TABLES, 2):
        followed.run(*GOES_ON)
        time.sleep(4.0)
    followed.wait_equal()
    assert "ISOLATED" not in errors(followed)
    followed.end()
    followed.write(sink, tables=TABLES[::-1])
    with Workload(followed.source_dsn, TABLES, 3):
        followed.run("--restore", "latest")
        time.sleep(1.0)
    followed.wait_equal()
    assert len(followed.slots()) == 1


@pytest.mark.parametrize("sink", ["", TWO_PHASE], ids=["by key", "two-phase"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_driver_is_killed_while_a_table_is_added(followed: Followed, sink: str, seed: int) -> None:
    """F-C45: in its copy, and while it joins the log."""
    random = Random(seed)
    with Workload(followed.source_dsn, TABLES, seed):
        begin_at_work(followed, sink)
        followed.write(sink, tables=TABLES)
        for _ in range(5):
            process = followed.run(*GOES_ON)
            time.sleep(random.uniform(1.2, 4.0))
            assert process.poll() is None, errors(followed)
            kill_driver(process)
    followed.run(*GOES_ON)
    followed.wait_equal()
    assert "ISOLATED" not in errors(followed)


def begin_at_work(followed: Followed, sink: str) -> None:
    followed.write(sink, tables=TABLES[:2])
    followed.run()
    time.sleep(4.0)
    followed.end()


SAVEPOINT = "driver.savepoint.durable"
AT = (
    SAVEPOINT, "driver.setup.before", "driver.setup.after", "driver.record.durable",
    "driver.commit.after",
)  # fmt: skip
HITS = {SAVEPOINT: (1, 1), "driver.setup.before": (1, 2, 2), "driver.setup.after": (1, 2, 2)}
"""One savepoint, and two set-ups of a join: those of the copies are done once, and may be over in a later run."""


@pytest.mark.parametrize("point", AT)
def test_the_driver_dies_at_each_step_of_a_join(followed: Followed, point: str) -> None:
    begin(followed, TABLES[:1], TWO_PHASE)
    followed.write(TWO_PHASE, tables=TABLES)
    for hits in HITS.get(point, (1, 2, 3)):
        with Workload(followed.source_dsn, TABLES, hits):
            process = followed.run_to_failpoint(f"{point}:kill@{hits}", *GOES_ON)
            wait_for("the driver to die", lambda process=process: process.poll() is not None, SECONDS)
    followed.run(*GOES_ON)
    followed.wait_equal()
    assert "ISOLATED" not in errors(followed)


@pytest.mark.parametrize("seed", [1, 2])
def test_rows_of_an_added_table_are_appended_once(followed: Followed, seed: int) -> None:
    """The cut between its copy and the log is exact, and so is that of the others where the log has waited."""
    random = Random(seed)
    with Workload(followed.source_dsn, TABLES, seed, only_inserts=True):
        for number in range(6):
            write_appending(followed, TABLES[: 1 + number // 2])
            process = followed.run(*(GOES_ON if number else ()))
            time.sleep(random.uniform(1.5, 4.0))
            assert process.poll() is None, errors(followed)
            kill_driver(process)
    followed.run(*GOES_ON)
    wait_appended(followed)


def test_a_table_joins_a_log_that_copies_nothing(followed: Followed) -> None:
    """The publication names it first, and its changes count from there."""
    latest = ", startup.mode = latest"
    followed.write(source=latest, tables=TABLES[:1])
    process = followed.run()
    wait_alive(process, "the slot", followed.slots, SECONDS)
    insert(followed, 5001)
    wait_alive(process, "the row", lambda: ids(followed, "orders") == [5001], SECONDS)
    followed.end()
    followed.write(source=latest)
    process = followed.run(*GOES_ON)
    wait_for("the table to join", lambda: "joins the log" in errors(followed), SECONDS)
    insert(followed, 5002)
    for table in TABLES:
        wanted = [5001, 5002] if table == TABLES[0] else [5002]
        wait_alive(process, table, lambda table=table, wanted=wanted: ids(followed, table) == wanted, SECONDS)


def insert(followed: Followed, key: int) -> None:
    with followed.pair.connect(followed.pair.source) as db:
        for table in TABLES:
            db.execute(f"INSERT INTO {table} VALUES ({key}, 'later', 1, 'x')".encode())


def ids(followed: Followed, table: str) -> list[int] | None:
    with followed.pair.connect(followed.pair.target) as db:
        if db.execute("SELECT to_regclass(%s)", [f"public.{table}"]).fetchone() == (None,):
            return None
        return [int(row[0]) for row in db.execute(f"SELECT id FROM {table} ORDER BY id".encode())]


def test_a_table_that_was_refused_joins_once_it_fits(followed: Followed) -> None:
    followed.write()
    with followed.pair.connect(followed.pair.target) as db:
        db.execute("CREATE TABLE lines (id int PRIMARY KEY, source int, seq int, note text)")
    followed.run()
    followed.wait_equal(TABLES[:2])
    assert "ISOLATED" in errors(followed)
    followed.end()
    with followed.pair.connect(followed.pair.target) as db:
        db.execute("DROP TABLE lines")
    with Workload(followed.source_dsn, TABLES, 1):
        followed.run("--restore", "latest")
        time.sleep(3.0)
    followed.wait_equal()


def test_a_table_whose_copy_is_older_than_the_log_is_isolated(followed: Followed) -> None:
    """The log has passed changes that the copy lacks. It is named with both places, and the others are followed on."""
    followed.write()
    with followed.pair.connect(followed.pair.target) as db:
        db.execute(
            "CREATE TABLE lines (id int PRIMARY KEY, source text, seq int, note text, CONSTRAINT small CHECK (id < 900))"
        )
    followed.run()
    followed.wait_equal(TABLES[:2])
    wait_for("the copy to be isolated", lambda: "ISOLATED" in errors(followed), SECONDS)
    with Workload(followed.source_dsn, TABLES, 1):
        time.sleep(1.0)
    followed.wait_equal(TABLES[:2])
    followed.end()
    with followed.pair.connect(followed.pair.target) as db:
        db.execute("ALTER TABLE lines DROP CONSTRAINT small")
    followed.run("--restore", "latest")
    wait_for("its log to be refused", lambda: "its changes in between are missing" in errors(followed), SECONDS)
    with Workload(followed.source_dsn, TABLES, 2):
        time.sleep(1.0)
    followed.wait_equal(TABLES[:2])
    assert "ISOLATED" in errors(followed)


ACCEPTED = (*GOES_ON, "--accept-changes")


@pytest.mark.parametrize("sink", ["", TWO_PHASE], ids=["by key", "two-phase"])
@pytest.mark.parametrize("kept", [TABLES[:1], TABLES[1:]], ids=["one", "two"])
def test_a_table_that_is_taken_out_leaves_the_log(followed: Followed, sink: str, kept: tuple[str, ...]) -> None:
    """Its target keeps the rows that it had, and the others go on, without another copy."""
    followed.write(sink)
    with Workload(followed.source_dsn, TABLES, 1):
        followed.run()
        time.sleep(4.0)
        followed.end()
    followed.write(sink, tables=kept)
    refused = finish(followed.run(*GOES_ON), SECONDS)
    assert refused.code != 0
    assert "these tables leave it, and their targets keep their rows" in errors(followed)
    with Workload(followed.source_dsn, TABLES, 2):
        followed.run(*ACCEPTED)
        time.sleep(4.0)
    followed.wait_equal(kept)
    assert "it leaves the log, and its target keeps its rows" in errors(followed)
    (gone, *_) = (table for table in TABLES if table not in kept)
    before = followed.pair.rows(followed.pair.target, gone)
    followed.end()
    with Workload(followed.source_dsn, TABLES, 3):
        followed.run(*GOES_ON)
        time.sleep(1.0)
    followed.wait_equal(kept)
    assert followed.pair.rows(followed.pair.target, gone) == before
    assert "ISOLATED" not in errors(followed)
    followed.end()
    followed.write(sink)
    followed.run(*GOES_ON)  # its target may hold rows that were deleted meanwhile
    wait_for("its log to be refused", lambda: "its changes in between are missing" in errors(followed), SECONDS)
    followed.wait_equal(kept)


@pytest.mark.parametrize("seed", [1, 2])
def test_tables_are_exchanged_while_the_driver_is_killed(followed: Followed, seed: int) -> None:
    """One leaves and one joins, at once."""
    random = Random(seed)
    with Workload(followed.source_dsn, TABLES, seed):
        begin_at_work(followed, TWO_PHASE)
        followed.write(TWO_PHASE, tables=TABLES[1:])
        for _ in range(4):
            process = followed.run(*ACCEPTED)
            time.sleep(random.uniform(1.2, 4.0))
            assert process.poll() is None, errors(followed)
            kill_driver(process)
    followed.run(*ACCEPTED)
    followed.wait_equal(TABLES[1:])
    assert "ISOLATED" not in errors(followed)
