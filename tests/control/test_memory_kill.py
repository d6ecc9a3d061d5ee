"""A driver that the kernel has ended because memory ran out: named where it is proved, never without proof (O29)."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from seatunnel_py.control.launching import Launch
from seatunnel_py.control.local_launcher import LocalLauncher
from seatunnel_py.control.store import audit, wishes
from seatunnel_py.control.store.wishes import RestartPolicy
from seatunnel_py.runtime.observe import memory_kill
from seatunnel_py.runtime.observe.memory_kill import MemoryWatch
from tests.control.world import Server, World

DRIVER = 4_242


class Kernel:
    """The files of a kernel. ``version``: of its control groups."""

    def __init__(self, folder: Path, version: int, *, shared: bool, gib: int) -> None:
        self.proc, self.groups, self.version = folder / "proc", folder / "groups", version
        for pid, group in ((DRIVER, "server" if shared else "driver"), (os.getpid(), "server")):
            place = self.proc / str(pid)
            place.mkdir(parents=True)
            kind = "" if version == 2 else "cpu,memory"
            (place / "cgroup").write_text(f"9:name=systemd:/\n{0 if version == 2 else 4}:{kind}:/{group}\n")
        (self.proc / f"{DRIVER}/status").write_text(f"Name:\tx\nVmRSS:\t {gib * 2**20} kB\n")
        (self.proc / "meminfo").write_text(f"MemTotal: {8 * 2**20} kB\n")
        self.kills(0, 0)

    def kills(self, group: int, machine: int) -> None:
        """The counts of the kernel."""
        for name in ("server", "driver"):
            place = self.groups / name if self.version == 2 else self.groups / "memory" / name
            place.mkdir(parents=True, exist_ok=True)
            if self.version == 2:
                (place / "memory.events").write_text(f"low 0\nmax 7\noom 1\noom_kill {group}\noom_group_kill 0\n")
            else:
                (place / "memory.oom_control").write_text(f"oom_kill_disable 0\nunder_oom 0\noom_kill {group}\n")
        (self.proc / "vmstat").write_text(f"nr_free_pages 1\noom_kill {machine}\n")

    def watch(self) -> MemoryWatch:
        """A watch that has looked twice."""
        made = MemoryWatch(DRIVER, self.proc, self.groups)
        made.look()
        made.look()
        return made


@pytest.mark.parametrize("version", [1, 2])
def test_o29_the_count_of_a_group_without_the_server_is_a_proof(tmp_path: Path, version: int) -> None:
    """Also where the kernel counts before the process is seen to have ended."""
    kernel = Kernel(tmp_path, version, shared=False, gib=1)
    watch = kernel.watch()
    kernel.kills(1, 1)
    watch.look()
    why = watch.why(signal.SIGKILL)
    assert why.startswith("out of memory: the kernel ended it") and "1.0 GiB" in why and "spark.driver.memory" in why
    assert watch.why(signal.SIGTERM) == watch.why(None) == ""


@pytest.mark.parametrize("version", [1, 2])
def test_o29_a_shared_group_shows_what_is_known(tmp_path: Path, version: int) -> None:
    """The server or another driver may be the one that was ended."""
    kernel = Kernel(tmp_path, version, shared=True, gib=1)
    watch = kernel.watch()
    kernel.kills(2, 2)
    why = watch.why(signal.SIGKILL)
    assert "out of memory" not in why
    assert "2 kills for memory in the control group that it shares" in why and "maybe this one" in why


@pytest.mark.parametrize(("gib", "claimed"), [(5, True), (1, False)])
def test_o29_the_count_of_the_machine_proves_only_with_the_size(tmp_path: Path, gib: int, claimed: bool) -> None:
    """A process with most of the memory is the one that was ended; a small one may have been killed by a person."""
    kernel = Kernel(tmp_path, 2, shared=True, gib=gib)
    watch = kernel.watch()
    kernel.kills(0, 1)
    assert ("out of memory" in watch.why(signal.SIGKILL)) == claimed
    assert ("maybe this one" in watch.why(signal.SIGKILL)) != claimed


def test_o29_signal_9_alone_names_no_memory(tmp_path: Path) -> None:
    """No count has grown, or the kernel shows none."""
    kernel = Kernel(tmp_path, 2, shared=False, gib=7)
    assert kernel.watch().why(signal.SIGKILL) == ""
    nothing = MemoryWatch(DRIVER, tmp_path / "none", tmp_path / "none")
    nothing.look()
    assert nothing.why(signal.SIGKILL) == ""


def test_o29_the_output_of_the_driver_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real process, killed by signal 9; only the counts of the kernel are made."""
    output = tmp_path / "out" / "r.log"
    words = (sys.executable, "-c", "import time; print('begun', flush=True); time.sleep(60)")
    launcher = LocalLauncher()
    pid = launcher.spawn(Launch("r", words, tmp_path, dict(os.environ), output))
    counts = iter([0, 0, 0, 0])
    monkeypatch.setattr(memory_kill, "_count", lambda file: next(counts, 1))
    monkeypatch.setattr(memory_kill, "MOST", 0.0)
    assert launcher.ends() == []
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    counts = iter(())
    (end,) = launcher.ends()
    assert end.signal == signal.SIGKILL and "memory" in end.memory
    assert output.read_text().splitlines()[-1] == f"seatunnel server: the driver was killed: {end.memory}"


def test_o29_the_cause_of_the_end_is_kept_and_counted(tmp_path: Path) -> None:
    """In the audit, and as the cause of the hold after it has come five times at the same place."""
    world = World(tmp_path)
    server = Server(world)
    server.define("a", RestartPolicy("on-failure"))
    run = server.start("a")
    for _ in range(5):
        server.go(90)
        world.kill(run)
        server.launcher.over[-1] = replace(server.launcher.over[-1], memory="out of memory: proved")
        server.go(5)
    with server.database.reading() as connection:
        ends = [one.act.result for one in audit.rows(connection, act="run.ended")]
        held = wishes.of_definition(connection, "a").held
    assert len(ends) == 5 and all(one.startswith("killed; out of memory: proved") for one in ends)
    assert held.startswith("HELD") and held.endswith("out of memory: proved")


def test_o29_the_real_kernel_has_these_files() -> None:
    """The count of the machine is read, and the size of a process."""
    watch = MemoryWatch(os.getpid())
    watch.look()
    assert watch._size > 2**20
    assert memory_kill._count(memory_kill.PROC / "vmstat") is not None
