"""SEATUNNEL_HOME: a job id has one owner, and what lies there is for its owner's eyes only."""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from seatunnel_py.cli.jobs.job_list import listing
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.jobs.job_lookup import JobLocation, KnownJob
from seatunnel_py.jobs.job_rows import Selection
from seatunnel_py.runtime.diagnosis.job_log import JobLog
from seatunnel_py.runtime.observe.receipt import Receipt, Seconds
from seatunnel_py.runtime.storage.home import Home, JobIdError
from seatunnel_py.runtime.storage.job_directory import JobDirectory, write_json

RECEIPT = Receipt("x", "job", (), Seconds())


def claim(home: Home, job_id: str | None = "x", *, fresh: bool = False) -> JobDirectory:
    return home.claim(job_id, fresh=fresh, about={"job_file": "job.conf"})


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_of_many_claims_one_wins(tmp_path: Path) -> None:
    """Two drivers never get the same id."""
    home = Home(tmp_path / "home")

    def attempt(_: int) -> int:
        try:
            claim(home)
        except JobIdError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(attempt, range(40))) == 1


@pytest.mark.parametrize(("ended", "words"), [(True, "has ended"), (False, "was started, and its driver was killed")])
def test_a_used_id_is_refused_with_the_ways_on(tmp_path: Path, ended: bool, words: str) -> None:
    """The message says what became of the first one, and what to type."""
    home = Home(tmp_path)
    place = claim(home)
    if ended:
        place.end(RECEIPT)
    place.clear()

    with pytest.raises(JobIdError, match=words) as caught:
        claim(home)

    assert "--fresh" in caught.value.remedy and "--job-id" in caught.value.remedy


def test_fresh_forgets_everything_of_the_id(tmp_path: Path) -> None:
    """Receipt, log and exchanged rows of the first run are gone."""
    home = Home(tmp_path)
    place = claim(home)
    place.end(RECEIPT)
    place.clear()
    place.exchange.mkdir()
    (place.exchange / "rows").write_text("personal")

    again = claim(home, fresh=True)

    assert again.read("receipt") is None
    assert list(again.exchange.iterdir()) == []


@pytest.mark.parametrize("fresh", [True, False])
def test_nobody_takes_the_place_of_a_running_job(tmp_path: Path, fresh: bool) -> None:
    """Not even with --fresh, which would delete what it works on; once its process is gone it is nobody's."""
    home = Home(tmp_path)
    program = "import sys, time; from pathlib import Path; from seatunnel_py.runtime.storage.home import Home;"
    program += "Home(Path(sys.argv[1])).claim('x', fresh=False, about={}); print('claimed', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE) as driver:
        assert driver.stdout is not None and driver.stdout.readline() == b"claimed\n"
        assert home.job("x").running
        with pytest.raises(JobIdError, match="'x' is running"):
            claim(home, fresh=fresh)
        assert home.job("x").exchange.is_dir()
        driver.kill()

    assert not home.job("x").running
    assert claim(home, fresh=True).running


@pytest.mark.parametrize("named", [True, False])
def test_a_refusal_names_the_driver_that_has_the_lock_and_not_the_dead_one_before_it(
    tmp_path: Path, named: bool
) -> None:
    """P8: between its lock and its job.json the refusal named the process that was killed before. ``named``: the
    lock names its holder already."""
    home, dead = Home(tmp_path), subprocess.Popen(["true"])
    dead.wait()
    place = home.place("x")
    place.path.mkdir(parents=True)
    about = {"job_id": "x", "driver": "d0", "started": 1.0, "pid": dead.pid, "host": socket.gethostname()}
    write_json(place.path / "job.json", about)
    (place.path / "lock").write_text("d0")
    program = """
import fcntl, sys, time
from pathlib import Path
from seatunnel_py.runtime.storage.job_directory import JobDirectory, write_json
path, named = Path(sys.argv[1]), sys.argv[2] == "True"
if named:
    JobDirectory("x", path, "d1").hold()
else:
    lock = open(path / "lock")
    fcntl.flock(lock, fcntl.LOCK_EX)
print("locked", flush=True)
time.sleep(0.3)
(path / "lock").write_text("d1")
write_json(path / "job.json", {"job_id": "x", "driver": "d1", "started": 1.0, "pid": 77, "host": "h"})
time.sleep(60)
"""
    words = [sys.executable, "-c", program, str(place.path), str(named)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as driver:
        assert driver.stdout is not None and driver.stdout.readline() == b"locked\n"
        with pytest.raises(JobIdError, match="process 77 on h"):
            home.claim("x", fresh=False, about={}, restore=True)
        driver.kill()


def test_a_command_that_looks_at_the_lock_keeps_no_driver_from_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    place = claim(home)
    place.clear()
    program = (
        "import sys, fcntl; file = open(sys.argv[1]); fcntl.flock(file, fcntl.LOCK_SH); print(flush=True); input()"
    )
    lock = str(place.path / "lock")
    with (
        subprocess.Popen([sys.executable, "-c", program, lock], stdin=-1, stdout=-1) as looks,
        ThreadPoolExecutor() as pool,
    ):
        assert looks.stdout is not None and looks.stdout.readline()
        claimed = pool.submit(home.claim, "x", fresh=False, about={}, restore=True)
        looks.communicate(b"\n")
        assert claimed.result().running


def test_a_home_that_cannot_be_used_is_named_with_the_variable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(SeaTunnelError, match="cannot keep jobs in .*file") as caught:
        claim(Home(tmp_path / "file"))

    assert "SEATUNNEL_HOME" in caught.value.remedy


@pytest.mark.parametrize("text", ["{", "[]", "\0"])
def test_a_record_that_cannot_be_read_is_named_and_hides_no_other_job(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SEATUNNEL_HOME", str(tmp_path))
    home = Home(tmp_path)
    for name in ("broken", "good"):
        place = claim(home, name)
        place.end(RECEIPT)
        place.clear()
    broken = home.job("broken").path / "receipt.json"
    broken.write_text(text)

    with pytest.raises(SeaTunnelError, match=re.escape(str(broken))):
        home.job("broken").read("receipt")
    assert listing(JobLocation(), Selection(), as_json=False) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    assert sorted(line.split()[:2] for line in lines) == [["broken", "UNREADABLE"], ["good", "SUCCESS"]]


def test_a_forgotten_claim_is_free_again(tmp_path: Path) -> None:
    """A job that never started must not keep its id."""
    home = Home(tmp_path)
    claim(home).forget()

    assert claim(home).job_id == "x"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_directories_are_0700_and_files_0600(tmp_path: Path, umask: int) -> None:
    """Whatever the umask: error texts and exchanged rows may hold personal data."""
    home = Home(tmp_path / "deep" / "home")
    before = os.umask(umask)
    try:
        place = claim(home)
        place.end(RECEIPT)
    finally:
        os.umask(before)

    assert [mode(path) for path in (home.path, home.path / "jobs", place.path, place.exchange)] == [0o700] * 4
    assert [mode(path) for path in place.path.iterdir() if path.is_file()] == [0o600] * 3


@pytest.mark.parametrize(
    "job_id",
    [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "/etc",
        ".hidden",
        "a b",
        "a\n",
        "a\0",
        "ä",
        "%2e%2e",
        "x" * 101,
        "$(id)",
        "~",
        "-x",
        "--fresh",
        "--",
        "latest",
    ],
)
def test_hostile_ids_are_refused(tmp_path: Path, job_id: str) -> None:
    """An id is a directory name; nothing outside of ``jobs`` is ever made or removed for one. P4: `-x`, `--fresh` and
    `latest` were taken as ids."""
    home = Home(tmp_path / "home")
    (tmp_path / "x").mkdir()

    with pytest.raises(JobIdError, match="is not a job id"):
        claim(home, job_id, fresh=True)

    assert (tmp_path / "x").is_dir()
    assert list(home.jobs()) == []


def test_a_link_in_the_place_of_a_job_is_not_followed(tmp_path: Path) -> None:
    """--fresh must not empty what somebody linked there."""
    home = Home(tmp_path / "home")
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").touch()
    (home.path / "jobs").mkdir(parents=True)
    (home.path / "jobs" / "x").symlink_to(victim)

    with pytest.raises(JobIdError):
        claim(home, fresh=True)

    assert (victim / "file").exists()


def test_a_driver_that_was_overtaken_says_and_removes_nothing(tmp_path: Path) -> None:
    """Whoever took the job over may have finished it: what the older one thinks of it is over."""
    home = Home(tmp_path)
    older = claim(home)
    newer = home.claim("x", fresh=False, about={}, restore=True)
    newer.end(RECEIPT)

    older.end(replace(RECEIPT, stopped_by=130))
    older.clear()
    older.forget()

    assert home.finished("x")
    assert newer.exchange.exists()


def test_clearing_removes_exchanged_rows_and_keeps_the_rest(tmp_path: Path) -> None:
    """Rows are nobody's business once a job is over."""
    place = claim(Home(tmp_path))

    place.clear()

    assert not place.exchange.exists()
    assert place.read("job") is not None


def test_jobs_are_listed_oldest_first_and_only_jobs(tmp_path: Path) -> None:
    """A stray file does not spoil the list; an unknown id names the newest jobs."""
    home = Home(tmp_path)
    assert list(home.jobs()) == []
    for number, name in enumerate(["b", "a"]):
        os.utime(claim(home, name).path, (number, number))
    (tmp_path / "jobs" / "notes.txt").touch()

    assert [place.job_id for place in home.jobs()] == ["b", "a"]
    with pytest.raises(JobIdError) as caught:
        home.job("c")
    assert caught.value.remedy == "newest jobs: b, a"


def test_a_random_id_is_given_when_none_is_asked_for(tmp_path: Path) -> None:
    """They sort by time and do not collide."""
    home = Home(tmp_path)

    assert len({claim(home, None).job_id for _ in range(20)}) == 20


def test_what_began_nothing_leaves_no_plan_to_go_on_from(tmp_path: Path) -> None:
    """A store that was removed with it is not missed by the next run."""
    home = Home(tmp_path / "home")
    place = claim(home)
    place.keep_plan({"steps": {}})
    place.clear(finished=False, rows=False)
    assert place.has_plan

    place.clear(plan=True)
    assert not place.has_plan


def test_a_receipt_counts_for_the_driver_that_wrote_it(tmp_path: Path) -> None:
    """P1: a driver that was killed after a restore showed the receipt of the driver before it. Receipts of older
    versions name no driver: there the time decides."""
    home = Home(tmp_path)
    first = claim(home)
    first.end(replace(RECEIPT, run=first.driver))
    first.clear(finished=False)
    assert first.finished

    second = home.claim("x", fresh=False, about={}, restore=True)
    assert second.read("receipt") is not None and second.receipt is None and not second.finished
    second.end(RECEIPT)
    assert second.receipt is not None
    os.utime(second.path / "receipt.json", (0, 0))
    assert second.receipt is None


@pytest.mark.parametrize("changed", [True, False])
def test_a_driver_that_failed_is_not_called_killed(tmp_path: Path, changed: bool) -> None:
    """One that was refused before it changed anything leaves the job as the driver before it did."""
    home = Home(tmp_path)
    first = claim(home)
    first.end(replace(RECEIPT, run=first.driver))
    first.clear(finished=False)
    second = home.claim("x", fresh=False, about={}, restore=True)

    second.gave_up("no room", changed=changed)
    second.clear(finished=False)

    job = KnownJob(second)
    assert job.state == ("FAILED" if changed else "SUCCESS")
    assert (job.receipt is None) is changed
    with pytest.raises(JobIdError, match="its driver failed" if changed else "has ended"):
        claim(home)


def test_p4_a_job_that_an_old_release_called_like_an_option_can_be_gone_on_with(tmp_path: Path) -> None:
    home = Home(tmp_path)
    (tmp_path / "jobs" / "latest").mkdir(parents=True)

    assert home.claim("latest", fresh=False, restore=True, about={}).job_id == "latest"
    with pytest.raises(JobIdError, match="'latest' is not a job id: it means the newest checkpoint"):
        claim(home, "latest")
    with pytest.raises(JobIdError, match="'--fresh' is not a job id: it reads as an option"):
        home.claim("--fresh", fresh=False, restore=True, about={})


@pytest.mark.parametrize("what", ["log", "plan", "receipt"])
def test_p4_a_home_that_is_removed_while_a_job_begins_is_said_in_a_sentence(tmp_path: Path, what: str) -> None:
    """P4: a traceback, FileNotFoundError of `events.jsonl`."""
    place = claim(Home(tmp_path / "home"))
    driver = place.read("job")
    shutil.rmtree(tmp_path / "home")
    write = {
        "log": lambda: JobLog(place.events, "x", "INFO"),
        "plan": lambda: write_json(place.path / "plan.json", driver or {}),
        "receipt": lambda: write_json(place.path / "receipt.json", RECEIPT.to_plain()),
    }[what]

    with pytest.raises(SeaTunnelError, match=f"{place.path} was deleted while the job started") as told:
        write()
    assert "SEATUNNEL_HOME" in told.value.remedy
