"""What is kept for later jobs goes when nobody has used it for long, and never from under somebody."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from seatunnel_py.spark.app.artifact_cache import UNUSED_SECONDS, drop_unused, held

_HOLDER = """
import sys
from pathlib import Path
from seatunnel_py.spark.app.artifact_cache import held
assert held(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def kept(directory: Path, name: str, days_ago: float) -> Path:
    file = directory / name / "code.zip"
    file.parent.mkdir()
    file.write_bytes(b"zip")
    then = time.time() - days_ago * 86_400
    os.utime(file, (then, then))
    return file


def test_only_what_nobody_has_used_for_long_goes(tmp_path: Path) -> None:
    old, recent = kept(tmp_path, "old", 8), kept(tmp_path, "recent", 6)

    drop_unused(tmp_path.glob("*/*"))

    assert not old.parent.exists() and recent.is_file()


def test_a_use_renews_it(tmp_path: Path) -> None:
    """Also when this process has ended."""
    file = kept(tmp_path, "old", 8)
    with subprocess.Popen([sys.executable, "-c", _HOLDER, str(file)], stdin=subprocess.DEVNULL) as user:
        assert user.wait() == 0

    drop_unused(tmp_path.glob("*/*"))

    assert file.is_file() and time.time() - file.stat().st_mtime < UNUSED_SECONDS


def test_what_a_running_job_has_used_for_longer_stays(tmp_path: Path) -> None:
    """A stream runs for months, and an executor that comes late fetches its code then."""
    file = kept(tmp_path, "old", 8)
    program = [sys.executable, "-c", _HOLDER, str(file)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as user:
        assert user.stdout is not None and user.stdout.readline() == "held\n"
        os.utime(file, (1.0, 1.0))
        drop_unused(tmp_path.glob("*/*"))
        assert file.is_file()
        user.kill()
        user.wait()

    drop_unused(tmp_path.glob("*/*"))
    assert not file.exists()


def test_what_is_not_there_is_not_held(tmp_path: Path) -> None:
    assert not held(tmp_path / "classes.jsa")
