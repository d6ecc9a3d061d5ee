"""A job whose store is lost: the target remembers it, or the machine does, and nothing is written a second time."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, Finished, finish, start, write_job


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

    def run(*more: str) -> Finished:
        return finish(start(tmp_path, "run", "job.conf", "--job-id", "job", *more, program=IN_PROCESS))

    assert run().code == 0
    (tmp_path / ".seatunnel").rename(tmp_path / "lost")

    again = run()
    assert again.code == 1, again.out + again.err
    told = " ".join((again.out + again.err).split())
    assert f"{databases.target}.public.events was loaded by another run of job 'job'" in told
    assert str(tmp_path / ".seatunnel/jobs/job/checkpoints") in told.replace(" ", ""), "both places are named"
    assert "go on with it" not in told, "it would be refused again"
    assert len(databases.rows(databases.target, "events")) == 10

    assert run("--fresh").code == 0
    assert len(databases.rows(databases.target, "events")) == 20, "people have asked for it"


@pytest.mark.parametrize("how", ["moved away", "another location"])
def test_a_lost_store_is_noticed_by_the_machine_that_ran_the_job(tmp_path: Path, how: str) -> None:
    """Files remember nothing. Refused as often as it is asked for; the store that is given back is gone on from."""

    def write(location: str) -> None:
        write_job(
            tmp_path,
            f"""
            env {{ checkpoint.interval = 10000{location} }}
            source {{ FakeSource {{ row.num = 10, schema {{ table = "shop.events", fields {{ id = bigint }} }} }} }}
            sink {{ LocalFile {{ path = "{tmp_path / "out"}", file_format_type = csv }} }}
            """,
        )

    def run(*more: str, **env: str) -> Finished:
        return finish(
            start(tmp_path, "run", "job.conf", "--job-id", "job", "--json", *more, program=IN_PROCESS, env=env)
        )

    def lines() -> int:
        return sum(len(file.read_text().splitlines()) for file in (tmp_path / "out").rglob("*.csv"))

    moved = how == "moved away"
    write("" if moved else f', checkpoint.location = "{tmp_path / "one"}"')
    killed = run(SEATUNNEL_FAILPOINT="driver.end.before:kill", SEATUNNEL_FAILPOINT_DIR=str(tmp_path))
    assert killed.code < 0 and lines() == 10
    store = tmp_path / ".seatunnel/jobs/job/checkpoints"
    if moved:
        store.rename(tmp_path / "away")
    else:
        write(f', checkpoint.location = "{tmp_path / "two"}"')

    for _ in range(2):
        refused = run("--restore", "latest")
        assert refused.code == 1, refused.out + refused.err
        assert "knows nothing of the job, of which driver 1 has run here" in refused.receipt["message"]
        assert "--fresh" in refused.receipt["remedy"]
    assert lines() == 10

    if moved:
        shutil.rmtree(store)
        (tmp_path / "away").rename(store)
    else:
        (tmp_path / "two").rename(tmp_path / "unused")
        (tmp_path / "one").rename(tmp_path / "two")
    ended = run("--restore", "latest")
    assert ended.code == 0, ended.out + ended.err
    assert lines() == 10
