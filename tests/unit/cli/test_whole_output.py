"""What a command prints arrives whole, whatever the environment says of buffers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

SIZE = 1_000_000
JOB = """
env { job.name = "größe → 大" }
source { FakeSource { row.num = 2, schema { table = "大", fields { id = bigint, "größe → 大" = string } } } }
sink { Console {} }
"""
PROGRAM = f"""
import signal, sys
from seatunnel_py.cli.view.files import keep_whole
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
keep_whole()
print("x" * {SIZE}, file=sys.{{stream}})
signal.setitimer(signal.ITIMER_REAL, 0)
"""


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_signal_amid_a_long_line_takes_nothing_from_it(stream: str, unbuffered: str) -> None:
    """A pipe takes 64 KiB at a time, and a reader may be slow; a receipt of 200 tables is longer."""
    writer = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(stream=stream)],
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        **{stream: subprocess.PIPE},
        text=True,
    )
    time.sleep(1.0)
    output = writer.communicate(timeout=30)[stream == "stderr"]

    assert writer.returncode == 0
    assert output == "x" * SIZE + "\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_character_that_the_terminal_lacks_fails_no_job(encoding: str, unbuffered: str, tmp_path: Path) -> None:
    """The receipt of a job that had succeeded ended with a trace, and exit code 1."""
    (tmp_path / "job.conf").write_text(JOB, encoding="utf-8")
    environment = os.environ | {"PYTHONIOENCODING": encoding, "PYTHONUNBUFFERED": unbuffered, "COLUMNS": "200"}
    for command in ("preview", "run"):
        words = [sys.executable, "-m", "seatunnel_py", command, "job.conf", *(["--here"] if command == "run" else [])]
        done = subprocess.run(words, env=environment, capture_output=True, cwd=tmp_path, timeout=60, check=False)

        assert done.returncode == 0, done.stderr.decode(encoding, "replace")
        assert b"Traceback" not in done.stderr


def test_json_stands_alone_on_stdout(tmp_path: Path) -> None:
    """The rows of Console stood in front of it."""
    (tmp_path / "job.conf").write_text(JOB, encoding="utf-8")
    words = [sys.executable, "-m", "seatunnel_py", "run", "job.conf", "--here", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)

    assert json.loads(done.stdout)["totals"]["rows_read"] == 2
    assert done.stderr.count("rowIndex=") == 2


NOISY = """
print("imported")
from seatunnel_example import CountdownFactory

class Noisy(CountdownFactory):
    name = "Noisy"

    def create(self, options, context):
        print("created")
        return super().create(options, context)
"""


@pytest.mark.parametrize("command", [["run", "--here"], ["plan"], ["check"], ["discover"], ["test-connection"]])
def test_what_plugins_print_stands_beside_json(tmp_path: Path, command: list[str]) -> None:
    """`check` and `plan` printed JSON that no program could read."""
    (tmp_path / "noisy.py").write_text(NOISY)
    (tmp_path / "noisy-1.0.dist-info").mkdir()
    (tmp_path / "noisy-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: noisy\nVersion: 1.0\n")
    points = "[seatunnel_py.sources]\nNoisy = noisy:Noisy\n"
    (tmp_path / "noisy-1.0.dist-info" / "entry_points.txt").write_text(points)
    (tmp_path / "job.conf").write_text("source { Noisy { start = 2 } }\nsink { Console {} }")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    words = [sys.executable, "-m", "seatunnel_py", *command, "job.conf", "--json"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)

    assert done.stderr.startswith("imported\n") and json.loads(done.stdout)
