"""Implements ``seatunnel install-scripts``: writes scripts with the names and options of SeaTunnel's.

Rules. (1) SEATUNNEL_HOME names the installation of SeaTunnel there, and the home of jobs here: the scripts set
their own. (2) A file that is not such a script is never replaced.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from seatunnel_py.cli.view.files import writing
from seatunnel_py.cli.view.terminal import say
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.runtime.storage.home import HOME_VARIABLE, Home

SPARK = "start-seatunnel-spark{}-connector-v2.sh"
NAMES = ("seatunnel.sh", SPARK.format(""), SPARK.format("-2"), SPARK.format("-3"))
MARK = "# Written by `seatunnel install-scripts`."
MODE = 0o755


def install(directory: Path, home: Path | None) -> int:
    """Write the scripts into ``directory``/bin. ``home``: of the jobs that they run; None: as of this command."""
    folder = directory.absolute() / "bin"
    own = (home.absolute() if home is not None else Home.of_environment().path).as_posix()
    text = script_text(own)
    paths = [folder / name for name in NAMES]
    for path in paths:
        if path.exists() and MARK not in path.read_text(errors="replace"):
            raise SeaTunnelError(f"{path} is not a script of seatunnel-py", "choose another directory")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        with writing(path):
            path.write_text(text, encoding="utf-8")
            path.chmod(MODE)
    say("\n".join(map(str, paths)))
    say(f"the home of their jobs is {own}")
    return ExitCode.SUCCESS


def script_text(home: str) -> str:
    """A script: it becomes the process of the job, so that signals reach it."""
    program = f"exec {shlex.quote(sys.executable)} -m seatunnel_py.cli.scripts"
    return f'#!/bin/sh\n{MARK}\n{HOME_VARIABLE}={shlex.quote(home)}\nexport {HOME_VARIABLE}\n{program} "$@"\n'
