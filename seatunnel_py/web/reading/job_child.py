"""Runs a command that looks at a job file, or at bad rows, in a process of its own: it may loop, or eat memory, without
harm to the server.

Rules. (1) The process gets a text as a file in an empty private directory, so includes find nothing. (2) Its
environment has only what is named here, and the variables that job files of this server may refer to. (3) Time,
processor, memory and output are limited; it ends with all that it has started. (4) At most ``CHILDREN_MAX`` at a time.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

from seatunnel_py.api.process.egress.egress_rules import VARIABLE
from seatunnel_py.api.process.private_files import make_private
from seatunnel_py.control.launching import quoted
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.web.problems import ApiError

CHILDREN_MAX = 2
MEMORY_BYTES = 2**30
OUTPUT_BYTES = 16 * 2**20
TOLD_CHARACTERS = 500
OLD_SECONDS = 3_600.0
FILE, PREFIX = "job.conf", "question-"
PASSED = ("PATH", "LANG", "LC_ALL", "TZ", "JAVA_HOME", "SPARK_HOME", "PYSPARK_PYTHON", VARIABLE)
_PROGRAM = (sys.executable, "-P", "-m", "seatunnel_py")
_running = BoundedSemaphore(CHILDREN_MAX)


@dataclass(frozen=True, slots=True)
class JobQuestion:
    """``command``: its words, as ``check`` or ``quarantine list``; ``text``: of the job file, None: it takes none;
    ``seconds``: how long it may take; ``environment``: names of variables; ``arguments``: further ones. ``file``: of a
    stored definition, which is read in place of ``text``, in its ``directory``. ``quiet``: its error output is not
    shown."""

    command: str
    text: str | None
    variables: Mapping[str, str]
    seconds: float
    environment: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    file: Path | None = None
    directory: Path | None = None
    quiet: bool = False


def asked(home: Home, question: JobQuestion) -> tuple[int, Any]:
    """The exit code and the document of the command. Raises ApiError if a limit has ended it."""
    if not _running.acquire(blocking=False):
        after = {"Retry-After": "2"}
        raise ApiError(503, "busy", f"{CHILDREN_MAX} job files are being looked at", "ask again", headers=after)
    try:
        below = home.path / "server"
        make_private(below)
        with tempfile.TemporaryDirectory(dir=below, prefix=PREFIX) as folder:
            return _run(home, Path(folder), question)
    finally:
        _running.release()


def forget_questions(home: Home, *, alone: bool) -> None:
    """Remove what a server that was killed has left; ``alone``: no other server of the home asks."""
    for left in (home.path / "server").glob(f"{PREFIX}*"):
        with suppress(OSError):
            if alone or time.time() - left.stat().st_mtime > OLD_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _run(home: Home, folder: Path, question: JobQuestion) -> tuple[int, Any]:
    file = question.file
    if file is None and question.text is not None:
        file = folder / FILE
        file.write_text(question.text, encoding="utf-8")
    words = [*question.command.split(), *([] if file is None else [str(file)]), "--json", *question.arguments]
    given = [word for name, value in sorted(question.variables.items()) for word in ("-i", quoted(name, value))]
    names = (*PASSED, *question.environment)
    environment = {name: value for name, value in os.environ.items() if name in names}
    environment |= {"SEATUNNEL_HOME": str(home.path), "HOME": str(folder), "NO_COLOR": "1"}
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        child = subprocess.Popen(
            [*_PROGRAM, *words, *given],
            cwd=question.directory or folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            start_new_session=True,
        )  # fmt: skip
    try:
        _limit(child.pid, question.seconds)
        code = child.wait(question.seconds)
    except subprocess.TimeoutExpired:
        raise _ended(f"it took longer than {question.seconds:g} s") from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    if code < 0:
        raise _ended("it used too much processor time or output" if code != -signal.SIGKILL else "it was killed")
    if b"MemoryError" in (folder / "err").read_bytes()[-10_000:]:
        raise _ended(f"it needs more than {MEMORY_BYTES // 2**20} MiB of memory")
    try:
        return code, json.loads((folder / "out").read_text(encoding="utf-8"))
    except ValueError:
        told = (folder / "err").read_text(encoding="utf-8", errors="replace")[-TOLD_CHARACTERS:].strip()
        why = f"the command has ended with {code} and without an answer"
        shown = f"{why}: {told}" if told and not question.quiet else why
        raise ApiError(422, "no-answer", shown) from None


def _limit(pid: int, seconds: float) -> None:
    """Processes that it starts inherit the limits."""
    with suppress(ProcessLookupError):
        for what, value in (
            (resource.RLIMIT_DATA, MEMORY_BYTES),
            (resource.RLIMIT_FSIZE, OUTPUT_BYTES),
            (resource.RLIMIT_CPU, int(seconds) + 1),
            (resource.RLIMIT_CORE, 0),
        ):
            resource.prlimit(pid, what, (value, value))


def _ended(why: str) -> ApiError:
    return ApiError(422, "limits", f"the job file could not be looked at: {why}", "make it smaller or simpler")
