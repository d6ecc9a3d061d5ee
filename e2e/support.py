"""Runs the public command line against real servers, and looks at processes from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from seatunnel_py.api.process.failpoints import DIRECTORY_VARIABLE, VARIABLE
from seatunnel_py.errors import ExitCode
from tests.kit.copies import MODULE, CopiedProcess, can_be_copied, copies
from tests.servers.process_tree import descendants, parent_of_each, words_of

_MAIN = "from seatunnel_py.__main__ import main; main()"
_LOCAL = (
    "from seatunnel_py import app; given = app.RunOptions; "
    "app.RunOptions = lambda *words, **more: given(*words, **{**more, 'local': True})"
)
SEATUNNEL = [sys.executable, "-c", _MAIN]
IN_PROCESS = [sys.executable, "-c", f"{_LOCAL}; {_MAIN}"]
"""The same command line, but units run in its own process: quick, where Spark is not what is tested."""
RUN_SECONDS_MAX = 180.0
ARCHIVE_SECONDS_MAX = 180.0
LOOK_PAUSE_MAX = 1.0


Process = subprocess.Popen[str] | CopiedProcess


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that ended."""

    code: int
    out: str
    err: str

    @property
    def receipt(self) -> dict[str, Any]:
        """What ``--json`` printed."""
        loaded: dict[str, Any] = json.loads(self.out)
        return loaded

    def tables(self, state: str) -> set[str]:
        """Names of the tables that ended in that state."""
        return {table["table"] for table in self.receipt["tables"] if table["state"] == state}


def start(
    home: Path,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    program: Sequence[str] = SEATUNNEL,
    output: Path | None = None,
    errors: Path | None = None,
    own_interpreter: bool = False,
) -> Process:
    """Start the command line in ``home``, which also holds its state; what it prints can go into files. A command is a
    copy of a process that has imported all it needs, also one that starts Spark, unless it needs an interpreter of its
    own."""
    environment = {**os.environ, "SEATUNNEL_HOME": str(home / ".seatunnel"), "NO_COLOR": "1", **(env or {})}
    local = list(program) == IN_PROCESS
    ours = local or list(program) == SEATUNNEL
    with _file(output) as stdout, _file(errors) as stderr:
        if ours and not own_interpreter and can_be_copied(environment):
            return copies().begin(arguments, home, environment, (stdout, stderr), local=local)
        return subprocess.Popen(
            [*program, *arguments],
            cwd=home,
            env=environment,
            text=True,
            stdout=stdout or subprocess.PIPE,
            stderr=stderr or subprocess.PIPE,
        )


def _file(path: Path | None) -> AbstractContextManager[IO[str] | None]:
    return path.open("w") if path else nullcontext()


def finish(process: Process, seconds: float = RUN_SECONDS_MAX) -> Finished:
    """Wait for its end; a command that hangs is a failed test, and is not left behind."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"the command did not end within {seconds} s:\n{out}\n{err}") from None
    return Finished(process.returncode, out, err)


def seatunnel(
    home: Path, *arguments: str, env: Mapping[str, str] | None = None, own_interpreter: bool = False
) -> Finished:
    """Run the command line to its end."""
    return finish(start(home, *arguments, env=env, own_interpreter=own_interpreter))


def failing(armed: str, points: Path) -> dict[str, str]:
    """The environment in which these failpoints are armed; ``points`` is the directory of their hits."""
    points.mkdir(exist_ok=True)
    return {VARIABLE: armed, DIRECTORY_VARIABLE: str(points)}


def events(home: Path, name: str, job: str = "job") -> list[dict[str, Any]]:
    """What the log of a job says of one kind; a driver may be in the middle of a line."""
    lines = (home / f".seatunnel/jobs/{job}/events.jsonl").read_text().splitlines(keepends=True)
    whole = (json.loads(line) for line in lines if line.endswith("\n"))
    return [event for event in whole if event["event"] == name]


def write_job(home: Path, text: str, name: str = "job.conf") -> Path:
    """A job file in the home of a test."""
    path = home / name
    path.write_text(text)
    return path


def python_workers(driver: int) -> list[int]:
    """Python workers below a driver: what a daemon of ours has forked has its command line."""
    parents = parent_of_each()
    daemons = [pid for pid in descendants(driver) if "seatunnel_py.spark.app.daemon" in " ".join(words_of(pid))]
    return [pid for pid in daemons if parents.get(pid) in daemons]


def below(home: str) -> list[tuple[int, str]]:
    """Processes whose SEATUNNEL_HOME is this one, however orphaned."""
    found = []
    for pid in parent_of_each():
        with suppress(OSError):  # it ended while we looked
            words = " ".join(words_of(pid))
            named = f"SEATUNNEL_HOME={home}\0".encode() in Path(f"/proc/{pid}/environ").read_bytes() + b"\0"
            # The kernel shows the first environment of a copy, but where it works.
            if named or (MODULE in words and Path(f"/proc/{pid}/cwd").readlink() == Path(home).parent):
                found.append((pid, words[:100]))
    return found


def still_below(home: str, seconds: float) -> list[tuple[int, str]]:
    """Wait until no process of this home runs, and return the ones that do not end. A JVM that writes its archive of
    classes has the time it needs: that is once per machine, and slow on a busy one."""
    deadline, archived = time.monotonic() + seconds, time.monotonic() + ARCHIVE_SECONDS_MAX
    while left := below(home):
        writes = any("-XX:ArchiveClassesAtExit" in " ".join(words_of(pid)) for pid, _ in left)
        if time.monotonic() > (archived if writes else deadline):
            break
        time.sleep(0.1)
    return left


def kill9(pid: int) -> None:
    """What the out-of-memory killer does."""
    os.kill(pid, signal.SIGKILL)


def kill_driver(process: Process) -> None:
    """Kill a driver and its Python workers, none of which says a word any more. One that has just ended by itself must
    have succeeded, or have been stopped by the command of a test."""
    workers = python_workers(process.pid)
    try:
        kill9(process.pid)
    except ProcessLookupError:
        process.communicate()
        assert process.returncode in (0, ExitCode.TERMINATED), (
            f"the driver had ended by itself with {process.returncode}"
        )
        return
    process.communicate()
    for worker in workers:
        with suppress(ProcessLookupError):  # it has noticed that its driver is gone
            kill9(worker)


def wait_for(what: str, condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    """The first true value of ``condition``."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        began = time.monotonic()
        value = condition()
        if value:
            return value
        # A look that takes long, at a database or by a command, would otherwise keep a core from the process that is waited for.
        time.sleep(min(max(0.05, 3 * (time.monotonic() - began)), LOOK_PAUSE_MAX))
    raise AssertionError(f"waited {seconds} s in vain for {what}")


def wait_alive(process: Process, what: str, condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    """The first true value of ``condition``, which a process has to live to see."""
    value = wait_for(what, lambda: process.poll() is not None or condition(), seconds)
    assert process.poll() is None, f"it has ended, but was to live until {what}: {finish(process)}"
    return value
