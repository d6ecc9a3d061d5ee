"""O1 to O12 and O15 of the study of operation, on a machine without real drivers: kills, restarts, broken files."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import count, pairwise
from pathlib import Path

import pytest

from seatunnel_py.control.local_launcher import LocalLauncher
from seatunnel_py.control.server_lock import ServerLock, ServerRunsError
from seatunnel_py.control.start_order import StartLimits
from seatunnel_py.control.store import definitions
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.database import Database, StoreUnreadableError, StoreUnwritableError
from seatunnel_py.control.store.intents import IntentState
from seatunnel_py.control.store.wishes import RestartPolicy
from seatunnel_py.runtime.observe.driver_process import DriverProcess, boot_id, start_ticks, this_process
from tests.control.homes import claimed, counted, receipt
from tests.control.world import Crash, Server, World

ONE_MINUTE = 60.0


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_o1_a_killed_server_leaves_the_drivers_and_the_next_one_adopts_them(world: World) -> None:
    """Nothing is started again, and the next end is restored as before."""
    server = Server(world, StartLimits(max_running=200))
    server.define()
    runs = [server.start() for _ in range(20)]
    server.go(25)
    assert set(world.drivers) == set(runs)

    second = Server(world, StartLimits(max_running=200))
    second.go(120)

    assert len(world.spawned) == 20
    assert {second.state(run) for run in runs} == {"RUNNING"}
    world.kill(runs[-1])
    second.go(30)
    assert [run for _, run in world.spawned[20:]] == [runs[-1]]


@pytest.mark.parametrize("slow", [0.0, 20.0, 90.0])
def test_o2_a_server_killed_at_any_step_of_a_start_leaves_one_driver_or_none(tmp_path: Path, slow: float) -> None:
    """And the next server makes one of none. A client that asks again with its key gets the same run."""
    for steps in count():
        world = World(tmp_path / str(steps), slow=slow)
        server = Server(world)
        server.define()
        world.crash_at = steps
        run, crashed = "", False
        try:
            run = server.start(key="k")
            server.go(5)
        except Crash:
            crashed = True
        world.crash_at = None

        second = Server(world)
        again = second.start(key="k")
        assert run in ("", again)
        second.go(4 * ONE_MINUTE, turn=2)

        assert list(world.drivers) == [again]
        assert [one.object for one in second.acts("run.start") if one.result == "done"] == [again]
        assert second.intents(again)[-1].state is IntentState.STARTED
        assert len(world.spawned) - len(world.refused) == 1, "two drivers have begun"
        if not crashed:
            break
    assert steps >= 8, "before and after each transaction, and the spawn"


def test_o2_a_server_killed_while_it_restores_a_run_loses_nothing(tmp_path: Path) -> None:
    """The end of the driver is noted once, and one driver follows."""
    for steps in count():
        world = World(tmp_path / str(steps))
        server = Server(world)
        server.define()
        run = server.start()
        server.go(20)
        world.kill(run)
        world.crash_at = steps
        crashed = False
        try:
            server.go(20)
        except Crash:
            crashed = True
        world.crash_at = None

        second = Server(world)
        second.go(4 * ONE_MINUTE, turn=2)

        assert list(world.drivers) == [run]
        assert len(second.acts("run.ended")) == 1
        assert second.wish().failures == 1
        assert len(world.spawned) - len(world.refused) == 2
        if not crashed:
            break
    assert steps >= 10, "before and after each transaction, and the spawn"


def test_o3_a_killed_driver_is_seen_at_once_and_restored_with_growing_waits(world: World) -> None:
    """A child within a turn; its restarts after 5, 10, 20 s. A run without progress ends as HELD."""
    server = Server(world)
    server.define()
    run = server.start()
    server.go(2)
    for failures in range(1, 5):
        world.kill(run)
        began = world.seconds
        server.go(0.5)
        assert server.state(run) == "KILLED" and server.wish().failures == failures
        server.go(60)
        waited = world.spawned[-1][0] - began
        assert 0 <= waited - 5 * 2 ** (failures - 1) <= 1.5
    world.kill(run)
    server.go(3_600, turn=10)

    assert run not in world.drivers and server.wish().held.startswith("HELD")
    server.commands.release("shop", Act("tester", "definition.release"))
    server.go(5)
    assert run in world.drivers and server.wish().failures == 0


def test_o3_a_driver_that_was_started_by_hand_is_seen_within_six_seconds_and_left(world: World) -> None:
    server = Server(world)
    world.by_hand("mine")
    server.go(5)
    assert server.state("mine") == "RUNNING"

    world.kill("mine")
    server.go(6)

    assert server.state("mine") == "KILLED"
    server.go(ONE_MINUTE)
    assert world.spawned == []


def test_o3_progress_and_a_healthy_time_count_anew(world: World) -> None:
    """Only the same cause at the same position holds a run; ten healthy minutes forget the failures."""
    server = Server(world)
    server.define()
    run = server.start()
    server.go(2)
    for number in range(7):
        world.checkpoints[run] = number
        world.beat(run)
        server.go(1.5)
        world.kill(run)
        server.go(700, turn=5)
        assert run in world.drivers, server.wish()

    server.go(605, turn=5)
    world.kill(run)
    server.go(1)
    assert server.wish().failures == 1 and server.wish().same == 1


def test_o4_a_driver_that_hangs_is_stalled_and_not_killed(world: World) -> None:
    server = Server(world)
    server.define()
    run = server.start()
    server.go(20)
    world.drivers[run].hangs = True
    server.go(45)

    assert server.state(run) == "STALLED"
    assert run in world.drivers and len(world.spawned) == 1
    world.drivers[run].hangs = False
    server.go(12)
    assert server.state(run) == "RUNNING"


def test_o5_an_end_while_the_server_was_down_is_found_once(world: World) -> None:
    server = Server(world)
    server.define()
    failed, done = server.start(), server.start()
    server.go(5)
    del server
    world.end(failed, "FAILED")
    world.end(done, "SUCCESS")

    second = Server(world)
    second.go(2)
    third = Server(world)
    third.go(2)

    ended = {act.object: act.result for act in third.acts("run.ended")}
    assert len(third.acts("run.ended")) == 2 and ended == {failed: "failed", done: "done"}


@pytest.mark.parametrize(("policy", "restored"), [("never", 0), ("on-failure", 6), ("always", 6)])
def test_o6_a_start_of_the_machine_restores_the_wished_runs_in_order(world: World, policy: str, restored: int) -> None:
    """O20: One a second at most, and none counts as failed."""
    server = Server(world)
    names = [f"d{number}" for number in range(6)]
    runs = []
    for name in names:
        server.define(name, RestartPolicy(policy))
        runs.append(server.start(name))
    server.go(15)
    world.restart_machine()

    world.luck = iter([0.9, 0.1, 0.5, 0.3, 0.7, 0.2, 0.4, 0.8, 0.6])
    second = Server(world)
    begun = len(world.spawned)
    second.go(30)

    times = [at for at, _ in world.spawned[begun:]]
    assert [run for _, run in world.spawned[begun:]] == runs[:restored]
    assert all(later - earlier >= 1.0 for earlier, later in pairwise(times))
    assert all(second.wish(name).failures == 0 for name in names)
    assert {act.result for act in second.acts("run.ended")} == {"boot"}


def test_o6_a_shutdown_that_stopped_a_run_in_order_is_undone_only_by_always(world: World) -> None:
    """A signal at the end of the machine is no wish of a person; the same signal on a running machine is."""
    server = Server(world)
    for name, policy in (("a", "always"), ("b", "on-failure")):
        server.define(name, RestartPolicy(policy))
    runs = [server.start("a"), server.start("b")]
    server.go(5)
    for run in runs:
        world.end(run, "STOPPED")
    world.restart_machine()
    second = Server(world)
    second.go(30)
    assert list(world.drivers) == [runs[0]]

    world.end(runs[0], "STOPPED")
    second.go(30)
    assert list(world.drivers) == []


def test_o7_a_process_that_has_the_pid_by_now_is_never_signalled() -> None:
    """Pid, start and boot must match."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        about = {**this_process(), "pid": child.pid, "start_ticks": start_ticks(child.pid)}
        launcher, right = LocalLauncher(), DriverProcess.of(about)
        assert right is not None
        for wrong in ({"start_ticks": about["start_ticks"] - 1}, {"boot": "before"}, {"host": "elsewhere"}):
            stranger = DriverProcess.of({**about, **wrong})
            assert stranger is not None and not launcher.signal(stranger, 9)
        assert child.poll() is None

        assert launcher.signal(right, 9)
        assert child.wait(10) == -9
        assert not launcher.signal(right, 9)
    finally:
        child.kill()
        child.wait()


def test_o8_a_directory_that_was_deleted_by_hand_is_not_made_again(world: World) -> None:
    """Nothing could be restored from it."""
    server = Server(world)
    server.define()
    run = server.start()
    server.go(5)
    world.remove(run)
    server.go(30)
    assert server.index.row(run) is None and len(world.spawned) == 1

    world.kill(run)
    server.go(ONE_MINUTE)
    assert len(world.spawned) == 1 and server.intents(run)[-1].state is IntentState.ENDED
    assert [act.result for act in server.acts("run.ended")] == ["stopped"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "none", str(place)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"a disk of its own cannot be mounted here: {made.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_o9_a_full_disk_starts_nothing_and_is_over_by_itself(small_disk: Path) -> None:
    """Runs are still shown; what ended meanwhile is noted later."""
    world = World(small_disk)
    server = Server(world, StartLimits(max_running=1))
    server.define()
    first, waits = server.start(), server.start()
    server.go(5)
    with (small_disk / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
        while True:
            ballast.write(bytes(512))
    world.kill(first)
    server.go(20)
    assert "full" in server.supervisor.fault
    assert server.state(first) == "KILLED" and len(world.spawned) == 1
    assert server.database.fault()
    with pytest.raises(StoreUnwritableError, match="full"):
        server.start()

    (small_disk / "ballast").unlink()
    server.go(3)
    assert server.supervisor.fault == "" and waits in world.drivers
    assert [act.object for act in server.acts("run.ended")] == [first]
    server.database.close()


def test_o10_a_deleted_database_loses_no_run(world: World) -> None:
    """The runs are all in the home; a damaged database is refused with the ways out."""
    server = Server(world)
    server.define()
    run = server.start()
    server.go(5)
    server.database.close()
    file = server.database.place.path
    for one in file.parent.glob("server.db*"):
        one.unlink()

    second = Server(world)
    assert second.state(run) == "RUNNING" and len(world.spawned) == 1
    second.database.close()

    file.write_bytes(b"not a database" * 1_000)
    with pytest.raises(StoreUnreadableError, match=r"server\.db") as refused:
        Database.open(file, world.now)
    assert "move it away" in refused.value.remedy and "`seatunnel server restore FILE`" in refused.value.remedy


def test_o10_a_damaged_page_is_found_at_the_start(world: World) -> None:
    server = Server(world)
    for number in range(40):
        server.define(f"d{number}")
    server.database.close()
    file = server.database.place.path
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    data = bytearray(file.read_bytes())
    data[3 * 4096 : 5 * 4096] = os.urandom(2 * 4096)
    file.write_bytes(bytes(data))
    with pytest.raises(StoreUnreadableError):
        Database.open(file, world.now)


def _broken_places(world: World) -> dict[str, str]:
    """Makes broken directories; returns a word of each reason."""
    home = world.home
    for name in ("half", "newer", "strange", "binary", "folder", "alien-receipt"):
        claimed(home.place(name), "d")
        counted(home.place(name), "d")
    job = home.place("half").path / "job.json"
    job.write_text(job.read_text()[: len(job.read_text()) // 2])
    newer = home.place("newer").path / "job.json"
    newer.write_text(newer.read_text().replace('"version": 1', '"version": 2'))
    claimed(home.place("strange"), "d", pid="x", start_ticks="y", boot=5, host=["z"], started="soon")
    (home.place("binary").path / "job.json").write_bytes(os.urandom(500))
    (home.place("folder").path / "job.json").unlink()
    (home.place("folder").path / "job.json").mkdir()
    receipt(home.place("alien-receipt"), "d", "SUCCESS", totals=[], tables=[{"name": "t"}])
    (home.path / "jobs" / "link").symlink_to(home.place("newer").path)
    (home.path / "jobs" / "dangling").symlink_to(world.path / "nowhere")
    return {
        "half": "damaged", "newer": "damaged", "strange": "version", "binary": "damaged", "folder": "cannot read",
        "alien-receipt": "version", "link": "link", "dangling": "link",
    }  # fmt: skip


def test_o11_a_broken_directory_is_a_row_that_tells_why(world: World) -> None:
    """The others go on, and it is a run again when it is mended."""
    reasons = _broken_places(world)
    server = Server(world)
    server.define()
    run = server.start()
    server.go(10)

    rows = {row.run: row for row in server.index.rows()}
    assert {name: rows[name].state for name in reasons} == dict.fromkeys(reasons, "UNREADABLE")
    assert {name: word for name, word in reasons.items() if word not in rows[name].fault} == {}
    assert rows[run].state == "RUNNING"

    claimed(world.home.place("half"), "d")
    receipt(world.home.place("half"), "d", "SUCCESS")
    server.go(31)
    assert server.state("half") == "SUCCESS"


def test_o12_a_second_server_is_refused_and_told_where_the_first_one_is(tmp_path: Path) -> None:
    first = ServerLock.take(tmp_path, "http://127.0.0.1:5801")
    with pytest.raises(ServerRunsError, match=rf"http://127\.0\.0\.1:5801 \(process {os.getpid()}"):
        ServerLock.take(tmp_path, "http://127.0.0.1:5802")
    first.release()

    ServerLock.take(tmp_path, "http://127.0.0.1:5802").release()


@pytest.mark.parametrize("hours", [-1, 1, 24])
def test_o15_a_wall_clock_that_jumps_changes_no_wait(world: World, hours: int) -> None:
    """Neither a storm of restarts nor a wait of an hour; no duration is negative."""
    server = Server(world)
    server.define()
    run = server.start()
    server.go(5)
    world.kill(run)
    server.go(1)
    world.wall += 3_600 * hours
    server.go(10)

    assert len(world.spawned) == 2 and server.state(run) == "RUNNING"
    world.end(run, "FAILED")
    world.wall -= 3_600 * hours
    server.go(20)
    assert len(world.spawned) == 3
    assert all((row.seconds or 0.0) >= 0.0 for row in server.index.rows())


def test_the_boot_of_this_machine_is_known() -> None:
    assert boot_id() and start_ticks(os.getpid()) and start_ticks(2**22 + 1) is None


def test_deleting_a_definition_waits_for_its_runs(world: World) -> None:
    server = Server(world)
    server.define()
    run = server.start()
    server.go(3)
    with pytest.raises(definitions.DefinitionInUseError, match=run), server.database.writing() as connection:
        definitions.delete(connection, "shop", 1.0)
    world.end(run, "SUCCESS")
    server.go(2)
    with server.database.writing() as connection:
        definitions.delete(connection, "shop", 1.0)
