"""A slow sink behind a full channel: barriers of aligned checkpoints wait for what is queued, unaligned ones do not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, events, finish, start, write_job

ROWS, SPLITS = 600, 30
UNIT_SECONDS = 0.9


@pytest.mark.parametrize("aligned", [True, False])
def test_a_checkpoint_that_takes_too_long(aligned: bool, tmp_path: Path, databases: Databases) -> None:
    """F19: an aligned one is aborted when its time is up, and counts; an unaligned one overtakes what is queued, and the
    last one waits for all of it: it has as much time as rows come."""
    with databases.connect(databases.target) as connection:
        connection.execute("CREATE TABLE slow (id bigint NOT NULL, name text)")
        connection.execute(
            "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN PERFORM pg_sleep({UNIT_SECONDS}); RETURN NULL; END $$"
        )
        connection.execute("CREATE TRIGGER slowly AFTER INSERT ON slow EXECUTE FUNCTION slowly()")
    out = tmp_path / "out"
    write_job(
        tmp_path,
        f"""
        env {{ parallelism = 1, unit.rows = 20, channel.capacity = 10, checkpoint.interval = 1500, checkpoint.timeout = 6000,
               checkpoint.alignment-timeout = {-1 if aligned else 0}, checkpoint.tolerable-failures = {100 if aligned else 0} }}
        source {{ FakeSource {{ plugin_output = made, row.num = {ROWS}, split.num = {SPLITS},
                    schema {{ fields {{ id = bigint, name = string }} }},
                    bigint.fake.mode = range, auto.increment.enabled = true }} }}
        sink {{
          Jdbc {{ plugin_input = made, {databases.jdbc(databases.target)}, generate_sink_sql = true, is_exactly_once = true,
                  exactly_once_recipe = direct, enable_upsert = false, database = {databases.target}, table = "public.slow" }}
          LocalFile {{ plugin_input = made, path = "{out}", file_format_type = json }}
        }}""",
    )

    run = finish(start(tmp_path, "run", "job.conf", "--job-id", "job", "--json", program=IN_PROCESS))

    assert run.code == 0, run.out + run.err
    expired = events(tmp_path, "checkpoint_ended")
    assert bool(expired) == aligned
    assert all("in time" in event["reason"] and "Jdbc" in str(event["missing"]) for event in expired)
    assert [row[0] for row in databases.rows(databases.target, "slow")] == list(range(1, ROWS + 1))
    filed = [json.loads(line)["id"] for file in out.glob("*.json") for line in file.read_text().splitlines()]
    assert sorted(filed) == list(range(1, ROWS + 1))
