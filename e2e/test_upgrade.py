"""Jobs that an older commit left are gone on with: every row arrives, once, and their bad rows stay known."""

from __future__ import annotations

import json
import signal
import tarfile
from pathlib import Path

import pytest

from e2e.support import IN_PROCESS, finish, start, wait_alive
from e2e.upgrade.jobs import BAD, JOBS, arguments, place

ARCHIVES = sorted((Path(__file__).parent / "upgrade").glob("*.tar.xz"))


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name.partition(".")[0])
def test_a_job_that_an_older_commit_left_is_finished(archive: Path, name: str) -> None:
    with place() as home:
        with tarfile.open(archive) as left:
            left.extractall(home, filter="data")
        go_on_with(home, name)


def go_on_with(home: Path, name: str) -> None:
    job = JOBS[name]
    before = {target: job.rows(home, target) for target in job.targets}

    process = start(home, *arguments(job, "--restore", "latest"), program=IN_PROCESS)
    if job.streams:
        wait_alive(process, "all rows", lambda: len(job.rows(home, job.targets[0])) >= len(job.wanted))
        process.send_signal(signal.SIGTERM)
    ended = finish(process)

    assert ended.code == (143 if job.streams else 0), ended.err + ended.out
    for target in job.targets:
        assert len(before[target]) < len(job.wanted) and job.rows(home, target) == job.wanted
    bad = sum(table["rows_rejected"] for table in json.loads(ended.out)["tables"])
    assert bad == (BAD if name == "bad" else 0)


def test_there_are_jobs_of_an_older_commit() -> None:
    assert ARCHIVES
