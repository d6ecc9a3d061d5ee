"""O26: a driver of another machine, which shares the home, is shown as such and left alone."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from seatunnel_py.api.process.file_systems import is_on_network
from seatunnel_py.control.run_commands import RunStateError
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.intents import IntentState
from seatunnel_py.control.store.wishes import RestartPolicy
from seatunnel_py.runtime.observe.driver_process import boot_id
from seatunnel_py.runtime.observe.other_machine import is_elsewhere
from tests.control.homes import claimed, receipt
from tests.control.world import Server, World

TEN_MINUTES = 600
MOUNTS = r"""
21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
40 21 0:50 / /srv/jobs rw,relatime shared:1 - nfs4 nas:/jobs rw,vers=4.2
41 40 8:2 / /srv/jobs/local rw - xfs /dev/sdb rw
42 21 0:51 / /srv/my\040jobs rw - fuse.s3fs s3fs rw
43 21 0:52 / /srv/jobsolete rw - cifs //nas/x rw
"""


@pytest.fixture
def far(tmp_path: Path) -> World:
    """A machine that shares its home. The drivers of ``World`` name a host that is not this one."""
    return World(tmp_path, shared=True)


def test_o26_a_driver_of_another_machine_is_not_taken_for_dead(far: World) -> None:
    server = Server(far)
    server.define(policy=RestartPolicy.ALWAYS)
    run = server.start()
    server.go(5)
    driver = server.index.row(run)
    assert driver is not None and driver.state == "RUNNING"

    far.lose_sight(run)
    server.go(TEN_MINUTES, turn=5)
    for seen in (server, Server(far)):  # also by a server that has just started
        seen.go(TEN_MINUTES, turn=5)
        row = seen.index.row(run)
        assert row is not None and (row.state, row.host, row.driver) == ("NOT ENDED", "here", driver.driver)
        assert row.alive and len(far.spawned) == 1
        assert seen.intents(run)[-1].state is IntentState.STARTED
        with pytest.raises(RunStateError, match="NOT ENDED"):
            seen.commands.kill(run, Act("tester", "run.kill"))
        with pytest.raises(RunStateError, match="is on here") as refused:
            seen.commands.restore(run, Act("tester", "run.restore"))
        assert f"seatunnel jobs restore {run}" in refused.value.remedy

    receipt(far.home.place(run), driver.driver, "SUCCESS")
    server.go(60)
    ended = server.index.row(run)
    assert ended is not None and (ended.state, ended.alive) == ("SUCCESS", False)
    assert server.intents(run)[-1].state is IntentState.ENDED and len(far.spawned) == 1


@pytest.mark.parametrize(
    ("shared", "more"),
    [(False, {"host": "far-away"}), (True, {"host": socket.gethostname()}), (True, {"host": "x", "boot": boot_id()})],
)
def test_o26_a_free_lock_proves_the_end_of_a_driver_of_this_machine(
    tmp_path: Path, shared: bool, more: dict[str, str]
) -> None:
    """Also of one in a container that had another name, and in a home that is of this machine only."""
    world = World(tmp_path, shared=shared)
    claimed(world.home.place("a"), "driver-a", **more)
    row = Server(world).index.row("a")
    assert row is not None and row.state == "KILLED" and not row.alive


def test_o26_a_name_and_a_start_tell_a_machine_from_another_one() -> None:
    assert is_elsewhere({"host": "far-away"}) and is_elsewhere({"host": "far-away", "boot": "other"})
    assert not is_elsewhere({}) and not is_elsewhere({"host": socket.gethostname(), "boot": "before"})


@pytest.mark.parametrize(
    ("path", "shared"),
    [
        ("/srv/jobs/home", True),
        ("/srv/jobs", True),
        ("/srv/jobs/local/home", False),
        ("/srv/my jobs/home", True),
        ("/srv/jobsolete", True),
        ("/srv/jobsolet", False),
        ("/home", False),
    ],
)
def test_o26_a_home_is_shared_on_a_network_file_system(tmp_path: Path, path: str, shared: bool) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS.lstrip())
    assert is_on_network(Path(path), mounts) is shared
    assert not is_on_network(Path(path), tmp_path / "none")
