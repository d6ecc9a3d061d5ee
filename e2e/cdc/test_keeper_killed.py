"""The session that exports the snapshot of a copy is ended in the middle of the copy: the table is copied exactly all
the same, and the others go on where they are."""

from __future__ import annotations

import json
import time
from typing import Any

from e2e.cdc.following_job import SECONDS
from e2e.cdc.test_postgres_cdc import TABLES, Followed, appended, followed, logical, write_appending
from e2e.cdc.test_table_reset import SINKS, errors
from e2e.cdc.workload import Workload
from e2e.support import seatunnel, wait_alive, wait_for
from seatunnel_py.runtime.observe.events import ANEW

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
    found = log.read_text().split("\n")[:-1] if log.exists() else []
    return [json.loads(line) for line in found]


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


def test_a_copy_without_a_key_begins_again(followed: Followed) -> None:
    """Rows of two moments must not be mixed where no key corrects them: nothing of the copy is visible before its end,
    so it begins again, and the others go on exactly."""
    fill(followed)
    write_appending(followed, TABLES)
    job = followed.home / "job.conf"
    text = job.read_text().replace("job.mode = STREAMING", f"job.mode = STREAMING{SLOWLY}, log.level = DEBUG")
    job.write_text(text.replace("user = postgres,", f"user = postgres{PARTS},", 1))
    with Workload(followed.source_dsn, TABLES, 1, only_inserts=True):
        process = followed.run()
        wait_alive(process, "a part of the copy", lambda: half_copied(followed), SECONDS)
        wait_for("the keepers", lambda: kill_the_keepers(followed) >= 1, SECONDS)
        assert appended(followed, TABLE) == []
        wait_alive(process, "the copy to begin again", lambda: begun_again(followed), SECONDS)
    for table in TABLES:
        wait_alive(process, table, lambda table=table: appended(followed, table) == lines(followed, table), SECONDS)
    assert "ISOLATED" not in errors(followed) and restarts_of_others(followed) == []


def begun_again(followed: Followed) -> bool:
    """Whether the table is read from its beginning."""
    return any(one["event"] == "unit_retried" and one["unit"] == ANEW for one in events(followed))


def lines(followed: Followed, table: str) -> list[str]:
    """The rows of the source, as files have them."""
    rows = followed.pair.rows(followed.pair.source, table)
    return sorted(",".join("" if value is None else str(value) for value in row) for row in rows)


def test_rows_that_move_between_blocks_are_not_lost(followed: Followed) -> None:
    """An update moves a row to free blocks, perhaps into a part that was read before; the log lacks its large value."""
    rows = (
        f"SELECT i, 'first', i, string_agg(md5(i::text || j), '') FROM generate_series(10000, {10_000 + ROWS // 8}) i"
    )
    followed.execute(
        followed.pair.source,
        f"ALTER TABLE {TABLE} ALTER note SET STORAGE EXTERNAL",
        f"INSERT INTO {TABLE} {rows}, generate_series(1, 100) j GROUP BY i",
        f"DELETE FROM {TABLE} WHERE id BETWEEN 10000 AND 11000",  # free space in the first blocks
        f"VACUUM ANALYZE {TABLE}",
    )
    followed.write(env=", read_limit.rows_per_second = 500, unit.rows = 100", source=", snapshot.split.size = 200")
    process = followed.run()
    copied = f"SELECT count(*) FROM {TABLE}"

    def half() -> bool:
        with followed.pair.connect(followed.pair.target) as db:
            if db.execute("SELECT to_regclass(%s)", [f"public.{TABLE}"]).fetchone() == (None,):
                return False
            found = db.execute(copied.encode()).fetchone()
        return found is not None and found[0] > 1200

    wait_alive(process, "a part of the copy", half, SECONDS)
    followed.execute(followed.pair.source, f"UPDATE {TABLE} SET seq = -seq WHERE id > 14000")
    assert kill_the_keepers(followed) >= 1
    followed.wait_equal()
