"""`jobs rm` and `jobs prune`: a job is whole or gone, whatever is killed, and what is still needed stays."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from e2e.support import IN_PROCESS, Finished, finish, kill9, seatunnel, start, wait_alive, write_job

BATCH = """
    env { job.mode = BATCH, job.name = NAME ENV }
    source { FakeSource { row.num = 100, schema { table = "shop.events", fields { id = bigint } } } }
    sink { LocalFile { path = "out-NAME", file_format_type = csv, data_save_mode = APPEND_DATA } }
"""
STREAM = """
    env { job.mode = STREAMING, checkpoint.interval = 200 ENV }
    source { FakeSource { row.num = 20000, split.num = 200, split.read-interval = 100,
                          schema { table = "shop.events", fields { id = bigint } } } }
    sink { LocalFile { path = "out-stream", file_format_type = csv } }
"""
FILES = 20_000


def run(home: Path, job_id: str, text: str = BATCH, *more: str, env: str = "", code: int = 0) -> Finished:
    """Run a job of this text to its end."""
    name = job_id.partition("-")[0]
    write_job(home, text.replace("NAME", name).replace("ENV", env), f"{name}.conf")
    ended = finish(start(home, "run", f"{name}.conf", "--job-id", job_id, "--json", *more, program=IN_PROCESS))
    assert ended.code == code, ended.err + ended.out
    return ended


def listed(home: Path, *words: str) -> dict[str, dict[str, Any]]:
    found = json.loads(seatunnel(home, "jobs", "list", *words, "--json").out)
    return {job["job_id"]: job for job in found}


def removed(home: Path, *words: str, code: int = 0) -> dict[str, Any]:
    ended = seatunnel(home, "jobs", *words, "--json")
    assert ended.code == code, ended.err + ended.out
    report: dict[str, Any] = json.loads(ended.out)
    return report


def directories(home: Path) -> set[str]:
    return {path.name for path in (home / ".seatunnel/jobs").iterdir()}


def test_jobs_are_pruned_by_rule(tmp_path: Path) -> None:
    for job_id in ("shop-1", "shop-2", "shop-3", "other-1"):
        run(tmp_path, job_id)
    rule = ("prune", "--keep", "1", "--state", "done,failed")
    foretold = removed(tmp_path, *rule, "--dry-run")
    assert directories(tmp_path) == {"shop-1", "shop-2", "shop-3", "other-1"} and foretold["dry_run"]

    report = removed(tmp_path, *rule)
    assert [one["job_id"] for one in report["removed"]] == ["shop-1", "shop-2"]
    assert report["removed"] == foretold["removed"] and report["runs"] == 2
    assert report["bytes"] == sum(one["bytes"] for one in report["removed"]) > 0
    assert listed(tmp_path).keys() == directories(tmp_path) == {"shop-3", "other-1"}
    assert removed(tmp_path, "prune", "--older-than", "1h")["removed"] == []
    assert len(list(tmp_path.glob("out-shop/*.csv"))) >= 3, "targets keep their rows"


def test_a_job_that_runs_or_can_go_on_is_kept(tmp_path: Path) -> None:
    """Its savepoint keeps it, too, until that is dropped."""
    write_job(tmp_path, STREAM.replace("ENV", ""), "stream.conf")
    driver = start(tmp_path, "run", "stream.conf", "--job-id", "stream", program=IN_PROCESS)
    wait_alive(driver, "rows", lambda: list(tmp_path.glob("out-stream/*.csv")))
    for words in (("rm", "stream", "--unfinished"), ("prune", "--keep", "0", "--state", "running")):
        report = removed(tmp_path, *words, code=words[0] == "rm")
        (kept,) = report["kept"]
        assert kept["why"] == "it is running" and "jobs cancel stream" in kept["remedy"] and report["removed"] == []
    assert driver.poll() is None
    assert seatunnel(tmp_path, "jobs", "savepoint", "stream", "--name", "before", "--stop").code == 0
    driver.communicate()

    (kept,) = removed(tmp_path, "rm", "stream", "--unfinished", code=1)["kept"]
    assert "state drop before" in kept["remedy"]
    assert seatunnel(tmp_path, "state", "drop", "before").code == 0
    refused = seatunnel(tmp_path, "jobs", "rm", "stream")
    assert refused.code == 1 and "kept stream: it can go on; `seatunnel jobs restore stream` resumes it" in refused.out
    assert removed(tmp_path, "prune", "--keep", "0")["removed"] == [], "only those that are done, if no state is named"
    assert listed(tmp_path)["stream"]["state"] == "STOPPED"
    assert removed(tmp_path, "rm", "stream", "--unfinished")["runs"] == 1
    assert directories(tmp_path) == set()


@pytest.mark.parametrize("moment", ["early", "middle"])
def test_a_removal_that_is_killed_leaves_a_job_whole_or_gone(tmp_path: Path, moment: str) -> None:
    """kill -9 in the middle of the deletion of many files; then, with any command, the rest goes."""
    run(tmp_path, "shop-1")
    place = tmp_path / ".seatunnel/jobs/shop-1"
    many = place / "exchange"
    many.mkdir(exist_ok=True)
    for number in range(FILES):
        (many / f"{number}").touch()
    files = {path.name for path in place.iterdir()}
    command = start(tmp_path, "jobs", "rm", "shop-1", own_interpreter=True)
    if moment == "early":
        time.sleep(0.05)  # its interpreter is still starting
    else:
        hidden = (tmp_path / ".seatunnel/jobs").glob
        while command.poll() is None and not list(hidden(".removed-*")):
            time.sleep(0.001)
    kill9(command.pid)
    command.communicate()

    if moment == "early":
        assert {path.name for path in place.iterdir()} == files and sum(1 for _ in many.iterdir()) == FILES
        assert seatunnel(tmp_path, "jobs", "show", "shop-1").out.startswith("shop-1  SUCCESS")
        return
    (left,) = directories(tmp_path)
    assert left.startswith(".removed-shop-1.") and command.returncode == -9, "it was killed too late"
    assert "there is no job 'shop-1'" in seatunnel(tmp_path, "jobs", "show", "shop-1").err
    run(tmp_path, "shop-1")  # its id is free again
    assert listed(tmp_path).keys() == directories(tmp_path) == {"shop-1"}


def test_bad_rows_that_wait_keep_their_job(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/rows.csv").write_text("1\ntwo\n3\n")
    text = """
        env { job.name = NAME, error.max-rows = 5 ENV }
        source { LocalFile { path = "in", file_format_type = csv, schema { fields { id = bigint } } } }
        sink { LocalFile { path = "out", file_format_type = csv, data_save_mode = APPEND_DATA } }"""
    elsewhere = f', error.location = "{tmp_path}/bad"'
    for env, place in (("", tmp_path / ".seatunnel/jobs/bad-1/quarantine"), (elsewhere, tmp_path / "bad/bad-1")):
        assert run(tmp_path, "bad-1", text, env=env).receipt["totals"]["rows_rejected"] == 1
        (kept,) = removed(tmp_path, "rm", "bad-1", code=1)["kept"]
        assert kept["why"] == "1 bad row of it waits to be replayed" and "--bad-rows" in kept["remedy"]
        assert place.is_dir()
        assert removed(tmp_path, "rm", "bad-1", "--bad-rows")["runs"] == 1
        assert not place.exists() and directories(tmp_path) == set()


def test_checkpoints_in_a_shared_place_go_with_their_job(tmp_path: Path) -> None:
    """A job file that needs a variable cannot locate them alone. A new job of that id keeps its own."""
    shared = tmp_path / "shared"
    location = ', checkpoint.location = "${place}"'
    run(tmp_path, "shop-1", BATCH, "-i", f"place={shared}", env=location)
    assert (shared / "shop-1").is_dir()
    (kept,) = removed(tmp_path, "rm", "shop-1", code=1)["kept"]
    assert "add --file JOB_FILE, and -i where that has variables" in kept["remedy"]
    named = ("--file", "shop.conf", "-i", f"place={shared}")
    assert listed(tmp_path, *named)["shop-1"]["state"] == "SUCCESS"
    (one,) = removed(tmp_path, "rm", "shop-1", *named)["removed"]
    assert one["checkpoint_location"] == str(shared)
    assert list(shared.glob("shop-1")) == [] and listed(tmp_path, *named) == {} and directories(tmp_path) == set()

    run(tmp_path, "shop-1", BATCH, "-i", f"place={shared}", env=location)
    assert removed(tmp_path, "rm", "shop-1", "--only-here")["runs"] == 1
    assert (shared / "shop-1").is_dir() and directories(tmp_path) == set()


def test_a_killed_removal_does_not_take_the_checkpoints_of_a_new_job(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    env = f', checkpoint.location = "{shared}"'
    run(tmp_path, "shop-1", env=env)
    jobs = tmp_path / ".seatunnel/jobs"
    for number in range(FILES):
        (shared / "shop-1/records").mkdir(exist_ok=True)
        (shared / f"shop-1/records/{number}").touch()
    command = start(tmp_path, "jobs", "rm", "shop-1", own_interpreter=True)
    while command.poll() is None and not list(jobs.glob(".removed-*")):
        time.sleep(0.001)
    kill9(command.pid)
    command.communicate()
    (hidden,) = jobs.iterdir()
    assert command.returncode == -9 and (hidden / "removal.json").is_file()
    assert listed(tmp_path) == {} and hidden.is_dir(), "`list` does not ask shared places"

    run(tmp_path, "shop-1", BATCH, "--fresh", env=env)
    new = {path.relative_to(shared) for path in shared.rglob("*") if path.is_file()}
    report = removed(tmp_path, "prune", "--keep", "5")
    assert report["incomplete"] == [] and directories(tmp_path) == {"shop-1"}
    assert {path.relative_to(shared) for path in shared.rglob("*") if path.is_file()} == new != set()
