"""A job whose store is lost: the target remembers it, and nothing is written a second time."""

from __future__ import annotations

import shutil
from pathlib import Path

from e2e.conftest import Databases
from e2e.support import seatunnel, write_job


def test_a_lost_store_is_noticed_by_the_target(tmp_path: Path, databases: Databases) -> None:
    write_job(
        tmp_path,
        f"""
        env {{ parallelism = 1 }}
        source {{ FakeSource {{ row.num = 10, schema {{ table = "shop.events", fields {{ id = bigint }} }},
                    bigint.fake.mode = range, auto.increment.enabled = true }} }}
        sink {{ Jdbc {{ {databases.jdbc(databases.target)}, generate_sink_sql = true, is_exactly_once = true,
                        database = {databases.target}, table = "public.events" }} }}
        """,
    )
    run = ("run", "job.conf", "--job-id", "job")
    assert seatunnel(tmp_path, *run).code == 0
    shutil.rmtree(tmp_path / ".seatunnel")

    again = seatunnel(tmp_path, *run)
    assert again.code == 1, again.out + again.err
    told = " ".join((again.out + again.err).split())
    assert f"{databases.target}.public.events remembers the job job" in told
    assert str(tmp_path / ".seatunnel/jobs/job/checkpoints") in told.replace(" ", ""), "both places are named"
    assert "go on with it" not in told, "it would be refused again"
    assert len(databases.rows(databases.target, "events")) == 10

    assert seatunnel(tmp_path, *run, "--fresh").code == 0
    assert len(databases.rows(databases.target, "events")) == 20, "people have asked for it"
