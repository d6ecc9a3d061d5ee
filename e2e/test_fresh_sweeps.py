"""P4-F7: `run --fresh` removes what earlier runs of the job have left in a target, and says so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, Finished, events, failing, finish, start, write_job


@pytest.mark.parametrize("recipe", ["prepared", "staged"])
def test_what_a_killed_run_left_goes_with_fresh(tmp_path: Path, databases: Databases, recipe: str) -> None:
    """The driver was killed before its first commit, and its place is lost: only the target knows of it."""
    write_job(
        tmp_path,
        f"""
        env {{ parallelism = 1, unit.rows = 100 }}
        source {{ FakeSource {{ row.num = 500, schema {{ table = "shop.swept", fields {{ id = bigint }} }},
                    bigint.fake.mode = range, auto.increment.enabled = true }} }}
        sink {{ Jdbc {{ {databases.jdbc(databases.target)}, generate_sink_sql = true, is_exactly_once = true,
                        exactly_once_recipe = {recipe}, database = {databases.target},
                        table = "public.swept_{recipe}" }} }}
        """,
    )

    def run(*more: str, **env: str) -> Finished:
        return finish(start(tmp_path, "run", "job.conf", "--job-id", "job", *more, program=IN_PROCESS, env=env))

    target = databases.target

    def ask(query: str) -> list[tuple[object, ...]]:
        with databases.connect(target) as connection:
            return connection.execute(query.encode()).fetchall()

    left = "SELECT count(*) FROM pg_prepared_xacts WHERE gid LIKE 'seatunnel:%'"
    if recipe == "staged":
        left = "SELECT count(*) FROM pg_class WHERE relname ~ '^swept_staged__st_.*' AND relkind = 'r'"
    assert run(**failing("postgres.unit.committed:kill", tmp_path / "points")).code < 0
    assert ask(left) == [(1,)]
    shutil.rmtree(tmp_path / ".seatunnel")

    done = run("--fresh")

    assert done.code == 0, done.out + done.err
    what = "1 prepared transaction" if recipe == "prepared" else "1 staging table"
    assert f"removed {what} of earlier runs" in " ".join((done.out + done.err).split())
    [event] = events(tmp_path, "target_swept")
    assert event["swept"] == [f"removed {what} of earlier runs"]
    assert ask(left) == [(0,)]
    assert sorted(databases.rows(target, f"swept_{recipe}")) == [(number,) for number in range(1, 501)]
