"""U46: a killer that takes whole control groups takes one driver, and neither the server nor the other drivers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from seatunnel_py.control.groups.driver_groups import PREFIX, SUBGROUP, DriverGroups

SECONDS_MAX = 60
DRIVER = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).wait()"
SERVER = """
import os, sys
from pathlib import Path
from seatunnel_py.control.groups.driver_groups import DriverGroups
from seatunnel_py.control.launching import Launch
from seatunnel_py.control.local_launcher import LocalLauncher

groups, unit, place, driver = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
(unit / "server" / "cgroup.procs").write_text(str(os.getpid()))
launcher = LocalLauncher(None, DriverGroups.of_this_process(groups))
for run in ("a", "b"):
    command = (sys.executable, "-c", driver)
    print(launcher.spawn(Launch(run, command, place, dict(os.environ), place / "out" / run)), flush=True)
for line in sys.stdin:
    print(*(end.signal for end in launcher.ends()), flush=True)
"""


@pytest.fixture
def groups(tmp_path: Path) -> Iterator[Path]:
    """The real control groups of this machine."""
    folder = tmp_path / "groups"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "cgroup2", "none", str(folder)], capture_output=True, check=False).returncode:
        pytest.skip("control groups of version 2 cannot be mounted here: that needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def unit(groups: Path) -> Iterator[Path]:
    """A group as `Delegate=yes` and `DelegateSubgroup=server` make it."""
    found = groups / f"seatunnel-test-{os.getpid()}"
    (found / SUBGROUP).mkdir(parents=True)
    try:
        yield found
    finally:
        for group in sorted(found.rglob("*/"), reverse=True):
            with suppress(OSError):
                (group / "cgroup.kill").write_text("1")
            until(lambda group=group: removed(group))
        until(lambda: removed(found))


def removed(group: Path) -> bool:
    with suppress(OSError):
        group.rmdir()
    return not group.exists()


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS_MAX
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def members(group: Path) -> list[int]:
    with suppress(FileNotFoundError):
        return [int(line) for line in (group / "cgroup.procs").read_text().split()]
    return []


def test_u46_a_group_that_is_killed_is_that_of_one_driver(groups: Path, unit: Path, tmp_path: Path) -> None:
    (unit / f"{PREFIX}1").mkdir()  # of an earlier server
    words = [sys.executable, "-c", SERVER, str(groups), str(unit), str(tmp_path), DRIVER]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        first, second = (int(server.stdout.readline()) for _ in "ab")
        assert not (unit / f"{PREFIX}1").exists()
        own = [unit / f"{PREFIX}{pid}" for pid in (first, second)]
        for group in own:  # the driver and what it has started
            until(lambda group=group: len(members(group)) == 2)
        assert members(unit / SUBGROUP) == [server.pid] and members(unit) == []

        (own[0] / "cgroup.kill").write_text("1")
        until(lambda: not members(own[0]))
        assert server.poll() is None and len(members(own[1])) == 2
        until(lambda: asked(server) == "9")
        until(lambda: not own[0].exists())
        assert own[1].exists()
        server.kill()
    assert len(members(own[1])) == 2  # it outlives its server


def asked(server: subprocess.Popen[str]) -> str:
    """The signals of drivers that have ended since the last look."""
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write("\n")
    server.stdin.flush()
    return server.stdout.readline().strip()


def test_u46_without_a_group_of_its_own_a_server_makes_none(tmp_path: Path) -> None:
    """Not delegated, no control groups, or another system."""
    made = DriverGroups.of_this_process(tmp_path)
    assert made == DriverGroups()
    made.put(os.getpid())
    made.sweep()
    assert list(tmp_path.iterdir()) == []
