"""A job that follows a log shows how far it is behind, and warns before the server removes what it needs."""

from __future__ import annotations

import json
from typing import Any

from e2e.cdc.following_job import SECONDS
from e2e.cdc.test_mariadb_cdc import FollowedLog, logged
from e2e.cdc.test_mariadb_cdc import followed as followed_mariadb
from e2e.cdc.test_postgres_cdc import Followed, followed, logical
from e2e.support import events, seatunnel, wait_alive

__all__ = ["followed", "followed_mariadb", "logged", "logical"]
MAX_LAG = 20_000_000


def shown_lag(job: Followed | FollowedLog) -> dict[str, Any] | None:
    shown = json.loads(seatunnel(job.home, "jobs", "show", "job", "--json").out)
    return next((one["log_lag"] for one in shown["standing"] or () if one["log_lag"]), None)


def test_postgres(followed: Followed) -> None:
    """A transaction that stays open keeps the log of a slot that is read to its end: the job warns, and says so when
    that is over."""
    followed.write(source=f", slot.max-lag = {MAX_LAG}")
    process = followed.run()
    followed.wait_equal()
    found = wait_alive(process, "a lag", lambda: shown_lag(followed), SECONDS)
    assert found["retained"] is not None and not found["warning"]

    with followed.pair.connect(followed.pair.source) as db, followed.pair.connect(followed.pair.source) as other:
        db.execute("CREATE TABLE noise (t text)")
        other.autocommit = False
        other.execute("INSERT INTO noise VALUES ('open')")
        for _ in range(12):
            db.execute("INSERT INTO noise SELECT repeat(md5(i::text), 20) FROM generate_series(1, 4000) i")
        db.execute("CHECKPOINT")
        [risk] = wait_alive(process, "a warning", lambda: events(followed.home, "log_at_risk"), SECONDS)
        assert "slot.max-lag is 20000000" in risk["warning"] and "open for long" in risk["remedy"]
        assert "slot.max-lag" in seatunnel(followed.home, "jobs", "show", "job").out
        other.rollback()
        db.execute("CHECKPOINT")
    wait_alive(process, "the end", lambda: len(events(followed.home, "log_at_risk")) == 2, SECONDS)
    assert events(followed.home, "log_at_risk")[1]["warning"] == ""


def test_mariadb(followed_mariadb: FollowedLog) -> None:
    job = followed_mariadb
    job.write()
    process = job.run()
    job.wait_equal()
    found = wait_alive(process, "a lag", lambda: shown_lag(job), SECONDS)
    assert found["retained"] is None and found["bytes"] < 1_000_000
    assert "ahead of the last checkpoint" in seatunnel(job.home, "jobs", "show", "job").out
