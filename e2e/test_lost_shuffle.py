"""Shuffle files of a wide query that are gone before they are all read (F13): Spark runs the lost part of it again."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

from e2e.support import finish, start, wait_for, write_job

ROWS, BUCKETS = 20_000, 400
PARTITIONS = 150
"""Each a task of a Python worker: the files are gone before the last of them have begun."""


def test_shuffle_files_that_are_lost(tmp_path: Path) -> None:
    """The order in which rows come out of a shuffle is nobody's promise, so that those of a second attempt are numbered
    otherwise than those of the first: no answer is made of parts of both."""
    out = tmp_path / "out"
    write_job(
        tmp_path,
        f"""
        env {{ parallelism = 1, spark.sql.adaptive.enabled = false, spark.sql.shuffle.partitions = {PARTITIONS} }}
        source {{ FakeSource {{ plugin_output = made, row.num = {ROWS}, split.num = 4,
                    bigint.fake.mode = range, auto.increment.enabled = true,
                    schema {{ table = "db.made", fields {{ id = bigint }} }} }} }}
        transform {{ Sql {{ plugin_input = made, plugin_output = numbered,
            query = "select id, id % {BUCKETS} as bucket, row_number() over (partition by id % {BUCKETS} order by id % 2) as n from made" }} }}
        sink {{ LocalFile {{ plugin_input = numbered, path = "{out}", file_format_type = json }} }}""",
    )
    process = start(tmp_path, "run", "job.conf", "--job-id", "job", "--json")

    wait_for("a part of the answer", lambda: [*tmp_path.glob(".seatunnel/**/exchange/*numbered*.segment")])
    for path in tmp_path.glob(".seatunnel/**/blockmgr-*/*/shuffle_*.data"):
        path.unlink()
    run = finish(process)

    assert run.code == 0, run.out + run.err
    assert "FetchFailed" in (tmp_path / ".seatunnel/jobs/job/job.log").read_text()
    rows = [json.loads(line) for file in out.glob("*.json") for line in file.read_text().splitlines()]
    assert sorted(row["id"] for row in rows) == list(range(1, ROWS + 1))
    numbers = defaultdict(set)
    for row in rows:
        numbers[row["bucket"]].add(row["n"])
    assert numbers == {bucket: set(range(1, ROWS // BUCKETS + 1)) for bucket in range(BUCKETS)}
