"""A streaming job: rows become visible while it runs, a stop ends it behind a savepoint, and it goes on from there."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, SEATUNNEL, Process, finish, start, wait_alive, write_job

ROWS = 30_000


def begin(home: Path, *more: str, program: list[str] = SEATUNNEL) -> Process:
    return start(home, "run", "job.conf", "--job-id", "stream", *more, program=program)


def test_a_stream_is_stopped_and_gone_on_with(tmp_path: Path, databases: Databases) -> None:
    """I44: what is visible after the stop is what the savepoint holds, and nothing comes twice afterwards."""
    write_job(
        tmp_path,
        f"""
        env {{ job.mode = STREAMING, checkpoint.interval = 300 }}
        source {{ FakeSource {{ row.num = {ROWS}, split.num = 100, split.read-interval = 50,
                    schema {{ table = "shop.events", fields {{ id = bigint, name = string }},
                              primaryKey {{ name = pk, columnNames = [id] }} }},
                    bigint.fake.mode = range, auto.increment.enabled = true }} }}
        sink {{ Jdbc {{ {databases.jdbc(databases.target)}, generate_sink_sql = true,
                        database = {databases.target}, table = "public.events" }} }}
        """,
    )

    rows = partial(databases.count, "events")
    process = begin(tmp_path)
    wait_alive(process, "rows while it runs", lambda: rows() > 0)
    process.send_signal(signal.SIGTERM)
    first = finish(process)
    assert first.code == 143 and "go on with it: seatunnel run job.conf --job-id stream --restore latest" in first.out
    seen = rows()
    assert 0 < seen < ROWS

    process = begin(tmp_path, "--restore", "latest", program=IN_PROCESS)
    wait_alive(process, "all rows, and stays open: there may be more some day", lambda: rows() >= ROWS)
    process.send_signal(signal.SIGINT)
    assert finish(process).code == 130
    assert rows() == ROWS
