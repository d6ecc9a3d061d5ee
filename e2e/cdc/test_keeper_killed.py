"""The session that exports the snapshot of a copy is ended in the middle of the copy: the table is copied exactly all
the same, and the others go on where they are."""

from __future__ import annotations

import json
import time
from typing import Any

from e2e.cdc.following_job import SECONDS
from e2e.cdc.test_postgres_cdc import TABLES, Followed, followed, logical, wait_appended, write_appending
from e2e.cdc.test_table_reset import SINKS, errors
from e2e.cdc.workload import Workload
from e2e.support import seatunnel, wait_alive, wait_for

__all__ = ["followed", "logical"]
TABLE, *OTHERS = TABLES
KEEPERS = (
    "state = 'idle in transaction' AND datname = current_database() "
    "AND (query LIKE '%pg_export_snapshot%' OR query = 'ROLLBACK TO SAVEPOINT question')"
)
SLOWLY = ", read_limit.rows_per_second = 8000, unit.rows = 1000"
PARTS = ", snapshot.split.size = 4000"
ROWS = 40_000


def fill(followed: Followed) -> None:
    rows = f"SELECT i, 'first', i, repeat('x', 200) FROM generate_series(10000, {10_000 + ROWS - 1}) i"
    followed.execute(followed.pair.source, f"INSERT INTO {TABLE} {rows}", f"ANALYZE {TABLE}")


def kill_the_keepers(followed: Followed) -> int:
    """End the sessions that show a snapshot; how many there were."""
    with followed.pair.connect(followed.pair.source) as db:
        asked = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {KEEPERS}"
        return len(db.execute(asked.encode()).fetchall())


def change_all(followed: Followed) -> None:
    """Change rows that were copied, and rows that were not, after the snapshot."""
    followed.execute(
        followed.pair.source,
        f"UPDATE {TABLE} SET seq = seq + 1000000, source = 'later' WHERE id >= 10000 AND id % 7 = 0",
        f"DELETE FROM {TABLE} WHERE id >= 10000 AND id % 11 = 0",
    )


def events(followed: Followed) -> list[dict[str, Any]]:
    """The complete lines of the job's log so far."""
    log = followed.home / ".seatunnel/jobs/job/events.jsonl"
    lines = log.read_text().split("\n")[:-1] if log.exists() else []
    return [json.loads(line) for line in lines]


def restarts_of_others(followed: Followed) -> list[str]:
    """The restarts, by table, of all pipelines but the copy of the table."""
    kinds = ("region_restarted", "unit_retried")
    return [str(one) for one in events(followed) if one["event"] in kinds and TABLE not in str(one.get("table"))]


def half_copied(followed: Followed) -> bool:
    """Whether some rows of the table were read, and not all."""
    moved = (one for one in events(followed) if one["event"] == "rows_moved")
    return sum(one["rows"] for one in moved if TABLE in str(one["table"])) > ROWS // 5


@SINKS
def test_in_the_first_copy(followed: Followed, sink: str) -> None:
    fill(followed)
    followed.write(sink, env=f"{SLOWLY}, log.level = DEBUG", source=PARTS)
    with Workload(followed.source_dsn, TABLES, 1):
        process = followed.run()
        wait_alive(process, "a part of the copy", lambda: half_copied(followed), SECONDS)
        assert kill_the_keepers(followed) >= 1
        change_all(followed)
        time.sleep(2.0)
    followed.wait_equal()
    assert restarts_of_others(followed) == []
    assert "ISOLATED" not in errors(followed) and len(followed.slots()) == 1


@SINKS
def test_in_a_reset(followed: Followed, sink: str) -> None:
    followed.write(sink, env=f"{SLOWLY}, log.level = DEBUG", source=PARTS)
    process = followed.run()
    followed.wait_equal()
    fill(followed)
    followed.wait_equal()
    with followed.pair.connect(followed.pair.target) as db:
        for table in OTHERS:
            db.execute(f"INSERT INTO {table} VALUES (-1, 'hand', 1, 'spoilt')".encode())
    (followed.home / ".seatunnel/jobs/job/events.jsonl").write_text("")
    with Workload(followed.source_dsn, TABLES, 1):
        assert seatunnel(followed.home, "table", "reset", "job", f"public.{TABLE}").code == 0
        wait_alive(process, "a part of the copy", lambda: half_copied(followed), SECONDS)
        assert kill_the_keepers(followed) >= 1
        change_all(followed)
        wait_alive(process, "the table to join", lambda: "joins the log" in errors(followed), SECONDS)
    followed.wait_equal([TABLE])
    with followed.pair.connect(followed.pair.target) as db:
        for table in OTHERS:
            assert db.execute(f"DELETE FROM {table} WHERE id = -1".encode()).rowcount == 1  # it was not copied again
    followed.wait_equal()
    assert restarts_of_others(followed) == []
    assert "ISOLATED" not in errors(followed)


def test_rows_are_appended_once(followed: Followed) -> None:
    """Rows of two moments must not be mixed where no key corrects them: the copy begins again, and the log after it."""
    fill(followed)
    write_appending(followed, TABLES)
    job = followed.home / "job.conf"
    job.write_text(job.read_text().replace("job.mode = STREAMING", f"job.mode = STREAMING{SLOWLY}, log.level = DEBUG"))
    with Workload(followed.source_dsn, TABLES, 1, only_inserts=True):
        process = followed.run()
        wait_alive(process, "a part of the copy", lambda: half_copied(followed), SECONDS)
        wait_for("the keepers", lambda: kill_the_keepers(followed) >= 1, SECONDS)
        time.sleep(2.0)
    wait_appended(followed)
    assert restarts_of_others(followed) == []
