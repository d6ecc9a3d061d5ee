"""O1 to O6 and O12 of the study of operation, with real processes, real locks and kill -9."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.server.hosted import Hosted
from seatunnel_py.control.run_commands import RunStateError
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.intents import IntentState
from seatunnel_py.runtime.control.requests import RequestKind
from seatunnel_py.runtime.observe import driver_process
from seatunnel_py.runtime.storage.job_directory import write_json


@pytest.fixture
def hosted(tmp_path: Path) -> Iterator[Hosted]:
    made = Hosted(tmp_path)
    yield made
    made.end()


@pytest.mark.spark
def test_o1_o2_a_killed_server_leaves_a_driver_on_spark_alone(tmp_path: Path) -> None:
    """The driver goes on as the same process; the next server adopts it, sees its death and restores it, and a stop
    through it ends the run for good."""
    hosted = Hosted(tmp_path, in_process=False)
    try:
        hosted.define("shop")
        hosted.begin()
        run = hosted.start("shop", key="k")
        hosted.until_moving(run)
        pid = hosted.pid(run)
        hosted.kill()
        hosted.until_moving(run)

        assert hosted.begin() < 15, "with the start of Python, on a busy machine"
        assert hosted.start("shop", key="k") == run
        hosted.until_moving(run)
        assert hosted.pid(run) == pid and [one.state for one in hosted.intents(run)] == [IntentState.STARTED]

        hosted.kill_driver(run)
        hosted.until("the kill is seen", lambda: hosted.wish("shop").failures == 1, 20)
        hosted.until_moving(run)
        assert hosted.pid(run) != pid

        request = hosted.commands.send(run, RequestKind.STOP, Act("tester", "run.stop"), name="last")
        hosted.until("the answer", lambda: hosted.commands.answer(run, request))
        hosted.until("the end", lambda: hosted.intents(run)[-1].state is IntentState.ENDED)
        time.sleep(2)
        assert hosted.state(run) == "STOPPED" and len(hosted.intents(run)) == 2 and hosted.wish("shop").run is None
    finally:
        hosted.end()


def test_o1_a_driver_holds_nothing_of_its_server(hosted: Hosted) -> None:
    """O30: A session of its own, no descriptor but its own files, private files, and only what it may know."""
    os.environ["SECRET_OF_SERVER"] = "canary-of-server"
    try:
        hosted.define("shop")
        hosted.begin()
    finally:
        del os.environ["SECRET_OF_SERVER"]
    run = hosted.start("shop")
    hosted.until_moving(run)
    pid = hosted.pid(run)

    assert os.getsid(pid) == pid
    opened = [str(one.readlink()) for one in Path(f"/proc/{pid}/fd").iterdir() if one.is_symlink()]
    assert [name for name in opened if "server.db" in name or name.endswith("server/lock")] == []
    assert str(Path(f"/proc/{pid}/fd/0").readlink()) == "/dev/null"
    assert "canary-of-server" not in Path(f"/proc/{pid}/environ").read_text()
    assert Path(f"/proc/{pid}/cwd").readlink() == hosted.home.path / "server" / "definitions" / "shop"
    assert int(Path(f"/proc/{pid}/oom_score_adj").read_text()) > int(Path("/proc/self/oom_score_adj").read_text())
    assert Path(f"/proc/{pid}/status").read_text().partition("Umask:\t")[2][:4] == "0077"


def test_o3_a_killed_driver_is_seen_within_seconds_and_restored_where_it_stood(hosted: Hosted) -> None:
    """U20."""
    hosted.define("shop")
    hosted.begin()
    run = hosted.start("shop")
    hosted.until_moving(run)
    before = hosted.read(run)
    hosted.kill_driver(run)
    seen = hosted.until("the kill is seen", lambda: hosted.wish("shop").failures == 1, 20)
    assert seen < 6
    hosted.until("it goes on", lambda: hosted.state(run) == "RUNNING" and hosted.read(run) > before)
    assert [act.result for act in hosted.acts("run.ended")] == ["killed"]


def test_o4_a_suspended_driver_is_stalled_and_killed_only_on_demand(hosted: Hosted) -> None:
    """U17: It goes on when it can; a person may kill one that hangs, and its run is restored."""
    kill = Act("tester", "run.kill")
    hosted.define("shop")
    hosted.begin()
    run = hosted.start("shop")
    hosted.until_moving(run)
    with pytest.raises(RunStateError, match="RUNNING, and no request"):
        hosted.commands.kill(run, kill)
    pid = hosted.pid(run)
    os.kill(pid, signal.SIGSTOP)
    try:
        hosted.until("it is stalled", lambda: hosted.state(run) == "STALLED", 60)
    finally:
        os.kill(pid, signal.SIGCONT)
    hosted.until_moving(run)
    assert hosted.pid(run) == pid

    os.kill(pid, signal.SIGSTOP)
    hosted.commands.send(run, RequestKind.SAVEPOINT, Act("tester", "run.savepoint"), name="s", seconds=0.1)
    time.sleep(0.2)
    with pytest.raises(RunStateError):
        hosted.commands.kill(run, kill)
    request = hosted.commands.send(run, RequestKind.STOP, Act("tester", "run.stop"), name="last", seconds=0.5)
    time.sleep(0.6)
    hosted.commands.kill(run, kill)
    hosted.until("its end", lambda: hosted.intents(run)[-1].state is IntentState.ENDED, 20)
    assert hosted.commands.answer(run, request) is None and hosted.wish("shop").run is None
    assert next(act.result for act in hosted.acts("run.kill")) == "done"


def test_o5_o6_an_end_without_a_server_is_found_and_a_start_of_the_machine_restores(hosted: Hosted) -> None:
    """The machine cannot be started anew here: the record of the driver names another start of it."""
    hosted.define("shop")
    hosted.begin()
    run = hosted.start("shop")
    hosted.until_moving(run)
    hosted.kill()
    hosted.kill_driver(run)
    about = hosted.home.place(run).read("job")
    assert about is not None
    assert about["boot"] == driver_process.boot_id()
    write_json(hosted.home.place(run).path / "job.json", {**about, "boot": "another"})
    hosted.begin()
    hosted.until_moving(run)
    assert [act.result for act in hosted.acts("run.ended")] == ["boot"] and hosted.wish("shop").failures == 0


def test_o8_a_driver_whose_directory_was_deleted_ends_and_is_not_restored(hosted: Hosted) -> None:
    """U21."""
    hosted.define("shop")
    hosted.begin()
    run = hosted.start("shop")
    hosted.until_moving(run)
    shutil.rmtree(hosted.home.place(run).path, ignore_errors=True)
    hosted.until("its end", lambda: hosted.intents(run)[-1].state is IntentState.ENDED, 30)
    assert [act.result for act in hosted.acts("run.ended")] == ["stopped"]
    assert hosted.drivers() == {} and len(hosted.intents(run)) == 1


def test_o12_a_second_server_is_refused(hosted: Hosted) -> None:
    hosted.begin()
    command = [sys.executable, "-m", "e2e.server.host", str(hosted.home.path)]
    second = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert second.returncode == 1
    assert hosted.host is not None
    assert f"http://127.0.0.1:5801 (process {hosted.host.pid} on " in second.stdout
    hosted.kill()
    hosted.begin()
