"""Tables are altered after their copy, and before the log that follows it has begun."""

from __future__ import annotations

import psycopg

from e2e.cdc.following_job import SECONDS
from e2e.cdc.test_mariadb_cdc import FollowedLog, logged
from e2e.cdc.test_mariadb_cdc import followed as followed_mariadb
from e2e.cdc.test_postgres_cdc import Followed, followed, logical
from e2e.cdc.test_schema_changes import FOLLOWS, wait_equal
from e2e.support import failing, finish, wait_alive

__all__ = ["followed", "followed_mariadb", "logged", "logical"]
COPIED = "driver.final.durable:kill@3"
"""The last one of three copies is done, and no log has begun."""


def die_before_the_log(job: Followed | FollowedLog) -> None:
    finish(job.run(env=failing(COPIED, job.home / "points")), SECONDS)


CHANGES = (
    "INSERT INTO orders (id, seq) VALUES (9001, 1)",
    "UPDATE orders SET seq = 77 WHERE id = 1",
    "ALTER TABLE orders ADD COLUMN more INT DEFAULT 5",
    "INSERT INTO orders (id, seq, more) VALUES (9002, 1, 7)",
    "UPDATE orders SET seq = 78 WHERE id = 2",
)


def test_mariadb(followed_mariadb: FollowedLog) -> None:
    """F-C51: the log before the change has rows of the definition at the copy, not of today's."""
    job = followed_mariadb
    job.write(", schema-changes.enabled = true")
    die_before_the_log(job)
    job.run_there(*CHANGES)
    job.run("--restore", "latest")
    assert job.process is not None
    wait_alive(job.process, "orders to be equal", lambda: orders(job) == job.run_there(QUERY), SECONDS)


QUERY = "SELECT id, seq, more FROM orders ORDER BY id"


def orders(job: FollowedLog) -> list[tuple[object, ...]]:
    with psycopg.connect(job.target.dsn_of(job.into), autocommit=True) as db:
        try:
            return db.execute(QUERY).fetchall()
        except psycopg.errors.UndefinedColumn:
            return []


def test_postgres(followed: Followed) -> None:
    """F-C51."""
    followed.write(source=FOLLOWS)
    die_before_the_log(followed)
    with followed.pair.connect(followed.pair.source) as db:
        for statement in CHANGES:
            db.execute(statement.encode())
    followed.run("--restore", "latest")
    wait_equal(followed)
