"""Persons decide about changes of one table among several of a binary log: it goes back to its own place in the log,
and no row of the others is written twice."""

from __future__ import annotations

import time
from functools import partial
from itertools import count
from random import Random
from typing import Any

import psycopg
import pytest

from e2e.cdc.decisions import add_rule, changes, decide, deciders, wait_waiting, waiting
from e2e.cdc.following_job import SECONDS
from e2e.cdc.mariadb_workload import MariadbWorkload
from e2e.cdc.test_mariadb_cdc import TABLES, FollowedLog, followed, logged
from e2e.support import kill_driver, seatunnel, wait_alive, wait_for

__all__ = ["followed", "logged"]
INBOX = ", schema-changes.enabled = true, schema-changes.behavior = inbox"
TWO_PHASE = ", is_exactly_once = true"
TABLE, *OTHERS = TABLES
GOES_ON = ("--restore", "latest")
_numbers = count(1)


def begin(followed: FollowedLog, source: str = INBOX, sink: str = "") -> None:
    followed.write(source, sink)
    followed.run()
    followed.wait_equal()


def here(followed: FollowedLog, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(followed.target.dsn_of(followed.into), autocommit=True) as db:
        return db.execute(query.encode()).fetchall()


def execute_here(followed: FollowedLog, *statements: str) -> None:
    with psycopg.connect(followed.target.dsn_of(followed.into), autocommit=True) as db:
        for statement in statements:
            db.execute(statement.encode())


def note_writes(followed: FollowedLog, tables: list[str]) -> None:
    """Let the target keep each row that is written to these tables from now on."""
    execute_here(
        followed,
        "CREATE TABLE written (name text, id int, source text, seq int)",
        "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.written "
        "VALUES (TG_TABLE_NAME, NEW.id, NEW.source, NEW.seq); RETURN NEW; END $$",
        *(
            f"CREATE TRIGGER keep AFTER INSERT OR UPDATE ON {one} FOR EACH ROW EXECUTE FUNCTION keep()"
            for one in tables
        ),
    )


def twice(followed: FollowedLog) -> list[tuple[Any, ...]]:
    """The rows that were written more than once: the workload never writes a key twice with one number."""
    query = "SELECT name, id, source, seq, count(*) FROM written GROUP BY 1, 2, 3, 4 HAVING count(*) > 1 LIMIT 5"
    return here(followed, query)


def columns(followed: FollowedLog, table: str = TABLE) -> list[str]:
    names = followed.run_there(
        "SELECT column_name FROM information_schema.columns "
        f"WHERE table_schema = '{followed.source}' AND table_name = '{table}' ORDER BY column_name"
    )
    return [str(name) for (name,) in names]


def columns_here(followed: FollowedLog, table: str = TABLE) -> list[str]:
    names = here(
        followed,
        f"SELECT attname::text FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0 "
        "AND NOT attisdropped ORDER BY attname",
    )
    return [str(name) for (name,) in names]


def is_equal(followed: FollowedLog, table: str = TABLE) -> bool:
    """Whether the target has the columns and the rows of the source."""
    names = columns(followed, table)
    if columns_here(followed, table) != names:
        return False
    query = f"SELECT {', '.join(names)} FROM {table} ORDER BY id"
    return here(followed, query) == followed.run_there(query)


def wait_equal(followed: FollowedLog) -> None:
    assert followed.process is not None
    for table in TABLES:
        wait_alive(followed.process, f"{table} to be equal", partial(is_equal, followed, table), SECONDS)


def wait_others(followed: FollowedLog) -> None:
    """Wait until a row of another table has arrived, which no other call writes."""
    number = next(_numbers)
    followed.run_there(f"INSERT INTO {OTHERS[0]} (id, seq) VALUES (9000001, {number})")
    query = f"SELECT seq FROM {OTHERS[0]} WHERE id = 9000001"
    wait_for("a row of another table", lambda: here(followed, query) == [(number,)], SECONDS)
    followed.run_there(f"DELETE FROM {OTHERS[0]} WHERE id = 9000001")


@pytest.mark.parametrize("kills", [0, 3])
def test_a_table_goes_back_to_its_place_and_no_row_of_another_comes_twice(followed: FollowedLog, kills: int) -> None:
    """F-C18, F-C37: also where the driver is killed after the approval, again and again. The log has new files, and
    transactions of several tables, between the two places."""
    random = Random(kills)
    begin(followed, sink=TWO_PHASE)
    note_writes(followed, OTHERS)
    with MariadbWorkload(followed.connection(), TABLES, 1), MariadbWorkload(followed.connection(), TABLES, 2):
        time.sleep(1.0)
        followed.run_there(f"ALTER TABLE {TABLE} ADD COLUMN state VARCHAR(10) DEFAULT 'open'")
        (name,) = wait_waiting(followed)
        before = here(followed, f"SELECT * FROM {TABLE} ORDER BY id")
        followed.run_there(
            f"UPDATE {TABLE} SET state = 'paid' WHERE id < 20", f"ALTER TABLE {OTHERS[0]} ADD INDEX later (seq)",
            f"DELETE FROM {TABLE} WHERE id = 30",
        )  # fmt: skip
        wait_others(followed)
        assert here(followed, f"SELECT * FROM {TABLE} ORDER BY id") == before
        decide(followed, "approve", name)
        for _ in range(kills):
            time.sleep(random.uniform(0.0, 2.0))
            assert followed.process is not None and followed.process.poll() is None
            kill_driver(followed.process)
            followed.run(*GOES_ON)
        process = followed.process
        assert process is not None
        wait_alive(process, "the target", lambda: columns_here(followed) == columns(followed), SECONDS)
        time.sleep(1.0)
    wait_equal(followed)
    assert twice(followed) == []
    assert "ISOLATED" not in (followed.home / "errors").read_text().partition("approved")[2]
    (one,) = changes(followed)
    assert (one["waits"], one["verdict"], one["by"]) == (False, "approve", "anna")


@pytest.mark.parametrize("kills", [False, True])
def test_tables_wait_at_different_places(followed: FollowedLog, kills: bool) -> None:
    """F-C20: the log goes back to the place of each, whatever the order of the decisions, and rows of a table whose
    columns have changed in between are read under those of their time."""
    begin(followed, sink=TWO_PHASE)
    note_writes(followed, [TABLES[1]])
    first_table, _, second_table = TABLES
    with MariadbWorkload(followed.connection(), TABLES, 3), MariadbWorkload(followed.connection(), TABLES, 4):
        followed.run_there(f"ALTER TABLE {first_table} ADD COLUMN a INT DEFAULT 1")
        (first,) = wait_waiting(followed)
        followed.run_there(f"ALTER TABLE {first_table} ADD COLUMN b INT DEFAULT 2")
        wait_others(followed)
        followed.run_there(f"ALTER TABLE {second_table} ADD COLUMN c INT DEFAULT 3")
        second = next(one for one in wait_waiting(followed, 2) if one != first)
        wait_others(followed)
        for name in (second, first):
            decide(followed, "approve", name)
            if kills:
                assert followed.process is not None
                kill_driver(followed.process)
                followed.run(*GOES_ON)
            wait_for(f"{name} to be decided", partial(is_decided, followed, name), SECONDS)
        wait_for("the next change", lambda: [one for one in waiting(followed) if one not in (first, second)], SECONDS)
        decide(followed, "approve", waiting(followed)[0])
        process = followed.process
        assert process is not None
        wait_alive(process, first_table, lambda: columns_here(followed) == columns(followed), SECONDS)
    wait_equal(followed)
    assert twice(followed) == []
    assert waiting(followed) == []


def is_decided(followed: FollowedLog, name: str) -> bool:
    return name not in waiting(followed)


@pytest.mark.parametrize("point", ["driver.schema.altered", "driver.savepoint.durable", "driver.record.durable"])
def test_the_driver_dies_between_an_approval_and_its_effect(followed: FollowedLog, point: str) -> None:
    begin(followed, sink=TWO_PHASE)
    note_writes(followed, OTHERS)
    followed.run_there(f"ALTER TABLE {TABLE} ADD COLUMN state VARCHAR(10) DEFAULT 'open'")
    (name,) = wait_waiting(followed)
    followed.run_there(
        f"UPDATE {OTHERS[0]} SET seq = seq + 5000, source = 'again'",
        f"UPDATE {TABLE} SET state = 'paid' WHERE id < 100",
    )
    wait_others(followed)
    followed.end()
    decide(followed, "approve", name)
    process = followed.run_to_failpoint(f"{point}:kill", *GOES_ON)
    wait_for("the driver to die", lambda: process.poll() is not None, SECONDS)
    followed.run_there(f"INSERT INTO {TABLE} (id, seq) VALUES (80001, 1)")
    followed.run(*GOES_ON)
    wait_equal(followed)
    assert [row for row in twice(followed) if row[1] == "again"] == []


def test_a_place_that_was_purged_is_refused_for_its_table_alone(followed: FollowedLog) -> None:
    """F-C9, F-C21: the server keeps its log for a time of its own. The others go on, and a copy mends the table."""
    begin(followed)
    followed.run_there(
        f"ALTER TABLE {TABLE} ADD COLUMN a INT DEFAULT 4", f"UPDATE {TABLE} SET a = 1 WHERE id < 50", "FLUSH LOGS"
    )
    (name,) = wait_waiting(followed)

    def purged() -> bool:
        """The server keeps the file that it sends to its reader."""
        followed.run_there("FLUSH LOGS")
        wait_others(followed)
        newest = followed.run_there("SHOW BINARY LOGS")[-1][0]
        followed.run_there(f"PURGE BINARY LOGS TO '{newest}'")
        return len(followed.run_there("SHOW BINARY LOGS")) == 1

    wait_for("the log to be purged", purged, SECONDS)
    errors = followed.home / "errors"
    decide(followed, "approve", name)
    wait_for("the refusal", lambda: "was purged" in errors.read_text(), SECONDS)
    assert "seatunnel table reset" in seatunnel(followed.home, "jobs", "show", "job").out
    wait_others(followed)
    execute_here(followed, f"ALTER TABLE {TABLE} ADD COLUMN a INT")
    assert seatunnel(followed.home, "table", "reset", "job", TABLE).code == 0
    wait_equal(followed)


def test_a_rule_decides_without_a_stop_of_the_table(followed: FollowedLog) -> None:
    """A change of another kind waits for a person, until there is a rule for it too."""
    begin(followed)
    with MariadbWorkload(followed.connection(), TABLES, 5):
        adds = add_rule(followed, "approve", "add.column", table=rf".*\.{TABLE}")
        followed.run_there(f"ALTER TABLE {TABLE} ADD COLUMN a INT DEFAULT 1")
        wait_for("the target", lambda: columns_here(followed) == columns(followed), SECONDS)
        assert deciders(followed) == [("approve", f"rule {adds} of anna")]
        followed.run_there(f"ALTER TABLE {TABLE} RENAME COLUMN a TO b")
        (name,) = wait_waiting(followed)
        assert "a" in columns_here(followed)
        renames = add_rule(followed, "approve", "rename.column", table=rf".*\.{TABLE}")
        wait_for(f"{name} to be decided", partial(is_decided, followed, name), SECONDS)
    wait_equal(followed)
    assert ("approve", f"rule {renames} of anna") in deciders(followed)
