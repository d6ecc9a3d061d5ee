"""Two drivers of one job: the second is refused, or takes it over, and then the first changes nothing any more."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.conftest import Databases
from e2e.support import finish, seatunnel, wait_for
from e2e.test_rescale import ROWS, Stream


@pytest.fixture
def stream(tmp_path: Path, databases: Databases) -> Iterator[Stream]:
    found = Stream(tmp_path, databases)
    yield found
    found.end()


def test_a_driver_that_was_taken_over_from_changes_nothing(stream: Stream) -> None:
    """I34: stopped, overtaken, and continued: it is told so, and every row is there once."""
    stream.write(1)
    first = stream.run("--job-id", "job")
    stream.until_more(first)
    refused = seatunnel(stream.home, "run", "job.conf", "--job-id", "job")
    assert refused.code == 1 and "the job 'job' is running" in refused.err

    first.send_signal(signal.SIGSTOP)
    second = stream.run("--job-id", "job", "--restore", "latest")
    stream.until_more(second)
    first.send_signal(signal.SIGCONT)
    overtaken = finish(first)
    assert overtaken.code == 1 and "taken over" in overtaken.out + overtaken.err
    wait_for("all rows", lambda: second.poll() is not None or stream.count() >= ROWS, seconds=120)
    assert second.poll() is None, second.communicate()

    assert "RUNNING" in stream.ask("list").out, "the first one's end is not the job's"
    assert stream.ask("cancel", "job").code == 0, "the second one shows that it lives, and is heard"
    assert finish(second).code == 143
    with stream.databases.connect(stream.databases.target) as connection:
        rows = [row[0] for row in connection.execute("SELECT id FROM events ORDER BY id")]
    assert rows == list(range(rows[0], rows[0] + ROWS))

    late = stream.ask("savepoint", "job")
    assert late.code == 1 and "no driver of the job 'job' lives: it has ended" in late.err
