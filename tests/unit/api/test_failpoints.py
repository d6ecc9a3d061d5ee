"""Failpoints: armed by the environment, counted over processes, acting once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from seatunnel_py.api import RetriableError, failpoint
from seatunnel_py.api.process import failpoints
from seatunnel_py.api.process.failpoints import DIRECTORY_VARIABLE, VARIABLE

POINT = failpoint("example.commit.before", "Nothing has happened.")
HIT = f"from seatunnel_py.api import failpoint; failpoint({POINT.name!r}, '').hit(); print('went on')"


@pytest.fixture
def arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(tmp_path))
    return monkeypatch


def other_process() -> subprocess.CompletedProcess[str]:
    """A process that hits the point once."""
    return subprocess.run([sys.executable, "-c", HIT], capture_output=True, text=True, check=False)


def test_a_point_that_is_not_armed_does_nothing(arm: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also where another one is, whose name holds its own."""
    arm.setenv(VARIABLE, f"{POINT.name}.too:error")

    POINT.hit()

    assert not list(tmp_path.iterdir())


def test_hits_are_counted_over_processes_and_act_once(arm: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The third hit is the one, wherever it happens; the next process is spared."""
    arm.setenv(VARIABLE, f"other.point:error, {POINT.name}:kill@3")

    POINT.hit()
    codes = [other_process().returncode for _ in range(3)]

    assert codes == [0, -signal.SIGKILL, 0]
    assert (tmp_path / f"{POINT.name}.acted").read_text().isdigit()


def test_an_error_may_be_tried_again(arm: pytest.MonkeyPatch) -> None:
    """The engine tries the unit or commit again, and the second time it passes."""
    arm.setenv(VARIABLE, f"{POINT.name}:error")

    with pytest.raises(RetriableError, match=POINT.name):
        POINT.hit()

    POINT.hit()


def test_several_hits_act(arm: pytest.MonkeyPatch) -> None:
    """From the second to the third; and all from the second on."""

    def acts(hits: str) -> list[bool]:
        arm.setenv(DIRECTORY_VARIABLE, tempfile.mkdtemp(dir=os.environ[DIRECTORY_VARIABLE]))
        arm.setenv(VARIABLE, f"{POINT.name}:error@{hits}")
        found = []
        for _ in range(5):
            try:
                POINT.hit()
            except RetriableError:
                found.append(True)
            else:
                found.append(False)
        return found

    assert acts("2-3") == [False, True, True, False, False]
    assert acts("2-") == [False, True, True, True, True]


def test_a_pause_lasts_until_somebody_says_go(arm: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In the meantime a test kills somebody else."""
    arm.setenv(VARIABLE, f"{POINT.name}:pause")
    process = subprocess.Popen([sys.executable, "-c", HIT], stdout=subprocess.PIPE, text=True)
    acted = tmp_path / f"{POINT.name}.acted"
    while not acted.exists():
        assert process.poll() is None

    assert int(acted.read_text()) == process.pid
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.1)
    (tmp_path / f"{POINT.name}.go").touch()

    assert process.communicate()[0] == "went on\n"


def test_a_name_is_taken_once() -> None:
    """Two moments of one name could not be told apart; a module that is loaded again is no other moment."""
    assert failpoint(POINT.name, POINT.meaning) == POINT
    assert failpoints.declared()[POINT.name] == POINT

    with pytest.raises(ValueError, match="declared twice"):
        failpoint(POINT.name, "Something else.")


def test_processes_elsewhere_get_what_is_armed(arm: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Executors of a cluster do not inherit the driver's environment."""
    assert VARIABLE not in os.environ
    assert failpoints.environment() == {DIRECTORY_VARIABLE: str(tmp_path)}
