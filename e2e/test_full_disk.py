"""Disks that are full (F22, F56): under a file sink's target, the exchange, the checkpoint store, the quarantine, the home.
The place is named and so is what helps; with room again ``--restore latest`` goes on, and every row arrives once.

Each place is a file system of its own of a few pages: the rest of the machine has room.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.support import IN_PROCESS, Finished, finish, start, write_job

ROWS = 2_000
BAD = 100
SINK = 'LocalFile { plugin_input = t, path = "OUT", file_format_type = csv }'
RETRY = "parallelism = 1, unit.rows = 200, job.retry.times = 1, job.retry.interval.seconds = 0.1"
CHECKED = f"""transform {{ DataValidator {{ plugin_input = t, plugin_output = v,
    field_rules = [ {{ field_name = id, rule_type = RANGE, min_value = {BAD + 1} }} ] }} }}"""


@contextmanager
def small(place: Path, size: str) -> Iterator[None]:
    """A disk of that size there; ``grown`` makes room."""
    place.mkdir(parents=True, exist_ok=True)
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(place)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"a disk of its own cannot be mounted here: {made.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def grown(place: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=64m", str(place)], check=True)


def job(home: Path, env: str, *sinks: str, checked: bool = False) -> None:
    text = "\n".join(sinks or [SINK.replace("OUT", f"{home}/out")])
    write_job(
        home,
        f"""
        env {{ {RETRY}, {env} }}
        source {{ FakeSource {{ plugin_output = t, row.num = {ROWS}, split.num = 4, string.length = 50
            bigint.fake.mode = range, auto.increment.enabled = true
            schema {{ table = "db.t", fields {{ id = bigint, note = string }} }} }} }}
        {CHECKED if checked else ""}
        sink {{ {text.replace("plugin_input = t", "plugin_input = v") if checked else text} }}""",
    )


def run(home: Path, *more: str) -> Finished:
    return finish(start(home, "run", "job.conf", "--job-id", "j", "--json", *more, program=IN_PROCESS))


def ids(folder: Path) -> list[int]:
    return sorted(int(line.split(",")[0]) for file in folder.rglob("*.csv") for line in file.read_text().splitlines())


def refused(home: Path, place: Path, remedy: str) -> None:
    """By one sentence about the disk, with what helps; whatever was being done."""
    ended = run(home)
    assert ended.code == 1, ended.out + ended.err
    [table] = ended.receipt["tables"]
    assert table["state"] == "FAILED"
    assert "No space left on device" in table["cause"]["message"] and str(place) in table["cause"]["message"]
    assert remedy in table["cause"]["remedy"]


def gone_on_with(home: Path, place: Path) -> Finished:
    grown(place)
    ended = run(home, "--restore", "latest")
    assert ended.code == 0, ended.out + ended.err
    return ended


def test_under_the_target(tmp_path: Path) -> None:
    place = tmp_path / "disk"
    with small(place, "32k"):
        job(tmp_path, "", SINK.replace("OUT", f"{place}/out"))
        refused(tmp_path, place, "make room on its disk")
        assert ids(place) == [], "nothing of a table that failed is seen"

        gone_on_with(tmp_path, place)

        assert ids(place / "out") == list(range(1, ROWS + 1))
        assert not list(place.rglob("*.part")), "what the full disk has torn is removed"


def test_under_the_exchange(tmp_path: Path) -> None:
    place = tmp_path / "disk"
    with small(place, "32k"):
        sinks = [SINK.replace("OUT", f"{tmp_path}/{name}") for name in ("one", "two")]
        job(tmp_path, f'channel.retain = always, exchange.location = "{place}"', *sinks)
        refused(tmp_path, place, "env.exchange.location")

        gone_on_with(tmp_path, place)

        assert ids(tmp_path / "one") == ids(tmp_path / "two") == list(range(1, ROWS + 1))


def test_under_the_store(tmp_path: Path) -> None:
    """F22: nor has it room for the receipt, which says why."""
    place = tmp_path / "disk"
    with small(place, "24k"):
        job(tmp_path, f'checkpoint.interval = 20, checkpoint.location = "{place}"')
        refused(tmp_path, place, "space")

        gone_on_with(tmp_path, place)

        assert ids(tmp_path / "out") == list(range(1, ROWS + 1))


def test_under_the_quarantine(tmp_path: Path) -> None:
    """Which bad rows count is decided once, however often it is tried."""
    place = tmp_path / "disk"
    with small(place, "8k"):
        job(tmp_path, f'error.max-rows = 1000, error.location = "{place}"', checked=True)
        refused(tmp_path, place, "env.error.location")

        ended = gone_on_with(tmp_path, place)

        assert ids(tmp_path / "out") == list(range(BAD + 1, ROWS + 1))
        [table] = ended.receipt["tables"]
        assert table["rows_rejected"] == BAD


def test_under_the_home(tmp_path: Path) -> None:
    """There is nothing that could be kept; the file is named."""
    place = tmp_path / ".seatunnel"
    with small(place, "16k"):
        job(tmp_path, "")
        ended = run(tmp_path)
        assert ended.code == 1
        assert f"No space left on device: {place}/jobs/j/" in ended.err or str(place) in ended.receipt["message"]

        gone_on_with(tmp_path, place)

    assert ids(tmp_path / "out") == list(range(1, ROWS + 1))


def test_a_torn_line_ends_the_journal_and_costs_nothing_before_it(tmp_path: Path) -> None:
    """A driver dies, and the disk has half of what it wrote last."""
    sinks = [SINK.replace("OUT", f"{tmp_path}/{name}") for name in ("one", "two")]
    job(tmp_path, "", *sinks)
    (tmp_path / "points").mkdir()
    env = {"SEATUNNEL_FAILPOINT": "driver.journal.written:kill@3", "SEATUNNEL_FAILPOINT_DIR": str(tmp_path / "points")}
    killed = finish(start(tmp_path, "run", "job.conf", "--job-id", "j", program=IN_PROCESS, env=env))
    assert killed.code == -9
    journal = max((tmp_path / ".seatunnel/jobs/j/checkpoints/journal").iterdir())
    whole = journal.read_bytes()
    assert len(whole.splitlines()) > 1
    last = whole.splitlines()[-1]
    journal.write_bytes(whole + last[: len(last) // 2])

    ended = run(tmp_path, "--restore", "latest")

    assert ended.code == 0, ended.out + ended.err
    assert json.loads(ended.out)["totals"]["rows_read"] == ROWS
    assert ids(tmp_path / "one") == ids(tmp_path / "two") == list(range(1, ROWS + 1))
