"""A log that is far ahead is caught up with through SQL: exactly, whenever the driver is killed."""

from __future__ import annotations

import time
from random import Random

from e2e.cdc.test_postgres_cdc import TABLES, Followed, followed, logical
from e2e.cdc.workload import Workload
from e2e.support import kill_driver

__all__ = ["followed", "logical"]
KILLS = 3


def copies(followed: Followed) -> list[str]:
    """Temporary slots of the source."""
    with followed.pair.connect(followed.pair.source) as db:
        query = "SELECT slot_name FROM pg_replication_slots WHERE temporary AND database = current_database()"
        return [str(name) for (name,) in db.execute(query)]


def test_a_driver_that_is_killed_while_it_catches_up_goes_on(followed: Followed) -> None:
    """Hundreds of megabytes of log were written while no driver ran; others write meanwhile. The slot moves only when
    a checkpoint has the rows, and no copy of it stays."""
    followed.write()
    process = followed.run()
    followed.wait_equal()
    kill_driver(process)
    filler = "INSERT INTO orders SELECT n, 'filler', n, repeat('x', 400) FROM generate_series({0}, {0} + 9999) n"
    for first in range(1_000_000, 1_200_000, 10_000):
        followed.execute(
            followed.pair.source, filler.format(first), "CHECKPOINT" if first % 50_000 == 0 else "SELECT 1"
        )

    random, seen = Random(44), set[str]()
    with Workload(followed.source_dsn, TABLES, 44):
        for _ in range(KILLS):
            process = followed.run("--restore", "latest")
            end = time.monotonic() + 3.0 + random.random() * 3.0
            while time.monotonic() < end:
                seen.update(copies(followed))
                time.sleep(0.02)
            kill_driver(process)
        followed.run("--restore", "latest")
        time.sleep(3.0)
    followed.wait_equal()
    assert seen, "no run has caught up"
    assert len(followed.slots()) == 1
    assert copies(followed) == []
