"""P4-F4: rows and states of a job lie in private files, also where the job file says where."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.support import IN_PROCESS, write_job

_WATCH = """
import os, stat, subprocess, sys, time
os.umask(int(sys.argv[1], 8))
process = subprocess.Popen(sys.argv[2:])
seen, until = {}, time.monotonic() + 60
while process.poll() is None and time.monotonic() < until:
    for root in ("exchange", "checkpoints", "bad", "home"):
        for folder, folders, files in os.walk(root):
            for path in [folder, *(os.path.join(folder, name) for name in files)]:
                try:
                    seen[path] = stat.S_IMODE(os.lstat(path).st_mode)
                except FileNotFoundError:
                    pass
    kinds = [any(word in path for path in seen) for word in (".segment", "/records/", "bad/deep/job/committed/")]
    if all(kinds):
        process.terminate()
    time.sleep(0.02)
process.wait(30)
print(kinds)
print("\\n".join(f"{path} {mode:o}" for path, mode in sorted(seen.items()) if mode & 0o077))
"""


@pytest.mark.parametrize("umask", ["000", "022"])
def test_places_that_the_job_file_names_are_private(tmp_path: Path, umask: str) -> None:
    """T14: Looked at every 20 ms while a stream runs of which two readers exchange rows, some of them bad."""
    given = tmp_path / "given"
    given.mkdir()
    given.chmod(0o775)
    with sqlite3.connect(given / "target.db") as target:
        target.execute("CREATE TABLE t (id INTEGER CHECK (id % 10 <> 7))")
    write_job(
        tmp_path,
        f"""
        env {{ job.mode = STREAMING, exchange.location = "exchange/deep", checkpoint.interval = 500, parallelism = 2
               checkpoint.location = "{tmp_path}/checkpoints/deep", error.location = "bad/deep", error.max-rows = 100000 }}
        source {{ FakeSource {{ row.num = 5000, split.num = 100, split.read-interval = 100,
                                schema {{ table = "t", fields {{ id = bigint }} }}, auto.increment.enabled = true }} }}
        sink {{ Jdbc {{ url = "jdbc:sqlite:{given}/target.db", driver = sqlite, generate_sink_sql = true, table = t }} }}
        """,
    )
    environment = {**os.environ, "SEATUNNEL_HOME": "home/deep"}
    run = subprocess.run(
        [sys.executable, "-c", _WATCH, umask, *IN_PROCESS, "run", "job.conf", "--job-id", "job"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip

    said = run.stdout.splitlines()
    assert "[True, True, True]" in said, run.stdout + run.stderr
    assert [line for line in said if line.startswith(("exchange", "checkpoints", "bad", "home"))] == []
    assert stat.S_IMODE(given.stat().st_mode) == 0o775, "a directory of the user keeps its mode"
