"""A target that is locked holds a stream up: it stops reading, says why, and goes on when the lock is gone."""

from __future__ import annotations

import json
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, finish, start, wait_for, write_job

ROWS, SPLITS = 6_000, 200


def test_a_stream_pauses_while_its_commits_wait_for_a_lock(tmp_path: Path, databases: Databases) -> None:
    """What was read before it paused is bounded, and every row arrives once: the table has no key that would hide it."""
    with databases.connect(databases.target) as connection:
        connection.execute("CREATE TABLE events (id bigint NOT NULL, name text)")
    write_job(
        tmp_path,
        f"""
        env {{ job.mode = STREAMING, checkpoint.interval = 100 }}
        source {{ FakeSource {{ row.num = {ROWS}, split.num = {SPLITS}, split.read-interval = 20,
                    schema {{ table = "shop.events", fields {{ id = bigint, name = string }} }},
                    bigint.fake.mode = range, auto.increment.enabled = true }} }}
        sink {{ Jdbc {{ {databases.jdbc(databases.target)}, generate_sink_sql = true, is_exactly_once = true,
                        exactly_once_recipe = staged, database = {databases.target}, table = "public.events" }} }}
        """,
    )

    def told() -> dict[str, Any]:
        """What the running job says of its table."""
        shown = finish(start(tmp_path, "jobs", "show", "held", "--json", program=IN_PROCESS))
        found: dict[str, Any] = json.loads(shown.out)["standing"][0]
        return found

    with closing(databases.connect(databases.target)) as watching, databases.connect(databases.target) as other:

        def staged() -> int:
            found = watching.execute("SELECT coalesce(max(number), 0) FROM seatunnel_piece").fetchone()
            return int(found[0]) if found else 0

        process = start(tmp_path, "run", "job.conf", "--job-id", "held", program=IN_PROCESS)
        wait_for("rows", lambda: process.poll() is not None or databases.count("events"))
        assert process.poll() is None, process.communicate()
        with other.transaction():
            other.execute("LOCK TABLE events IN SHARE MODE")
            pausing = "its sources pause: as many checkpoints are completed and not committed"
            found = wait_for("a pause", lambda: next((o for o in [told()] if pausing in " ".join(o["waits"])), None))
            assert found["lag"] == 2 and found["waits"][0].startswith("commit "), found
            units = staged()
            again = told()  # a command's start later
            assert (again["lag"], staged()) == (2, units), "it goes on reading"
            assert units < SPLITS / 2, "much was read before it paused"
        wait_for("all rows", lambda: process.poll() is not None or databases.count("events") >= ROWS)
        process.send_signal(signal.SIGTERM)
        assert finish(process).code == 143
    assert [row[0] for row in databases.rows(databases.target, "events")] == list(range(1, ROWS + 1))
