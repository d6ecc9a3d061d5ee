"""A driver that has started before its job is known: ``python -m seatunnel_py.cli.warm_driver HANDLE DIRECTORY``.

Rules. (1) It starts Spark, and runs a job of one row in its own directory, so that everything is loaded and compiled.
(2) It then writes ``READY`` to its socket, and reads one request: the arguments of a command, its working directory,
and the file for its output. (3) With the request it becomes a driver like any other; without one it ends with the
socket. (4) At the end of its job it records the modules that the job has loaded; the next one loads them in advance.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import json
import os
import socket
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from seatunnel_py import app
from seatunnel_py.__main__ import GARBAGE_AFTER, NO_PLUGINS_OF_PYDANTIC
from seatunnel_py.api.process.egress.egress_guard import watch
from seatunnel_py.api.process.private_files import open_to_append
from seatunnel_py.engine_choice import cache_directory
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.runtime.storage.job_directory import replace_file
from seatunnel_py.spark.app import prepared

READY = b"ready\n"
LOCK = "lock"
MODULES = "modules.json"
NAMES_MAX = 5_000
WORKERS_LOAD = ("seatunnel_connectors", "seatunnel_plugins")
REHEARSAL = """
env { job.mode = BATCH }
source { FakeSource { row.num = 1, schema { fields { id = bigint } } } }
sink { LocalFile { path = "%s", file_format_type = json } }
"""


def main() -> None:
    """Prepare, wait for the request, and become the driver of its job."""
    channel, place = socket.socket(fileno=int(sys.argv[1])), Path(sys.argv[2])
    gc.set_threshold(GARBAGE_AFTER)
    os.environ.setdefault(*NO_PLUGINS_OF_PYDANTIC)
    watch()
    _hold(place)
    modules = place.parent / MODULES
    _prepare(place, _recorded(modules))
    with suppress(BrokenPipeError):  # read below as the end
        channel.sendall(READY)
    request = _request(channel)
    if request is None:
        sys.exit()
    loaded = set(sys.modules)
    _become(request, place)
    from seatunnel_py.cli.main import main as command

    try:
        command()
    finally:
        _record(modules, set(sys.modules) - loaded)
        gc.freeze()  # as the console script


def _hold(place: Path) -> None:
    """Lock the directory until this process ends: the server removes it afterwards."""
    descriptor = os.open(place / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _prepare(place: Path, recorded: Sequence[str]) -> None:
    """Start Spark, and run a job of one row. Raises SeaTunnelError."""
    ours = tuple(name for name in recorded if name.split(".")[0] in WORKERS_LOAD)
    spark = prepared.prepare(place, cache_directory(), ours)
    for name in recorded:
        with suppress(ImportError):  # of an older release, or an extra that was removed
            importlib.import_module(name)
    job = place / "rehearsal.conf"
    job.write_text(REHEARSAL % (place / "rehearsal"))
    with spark.rehearsal():
        receipt = app.run(job, app.RunOptions({}), Home(place / "home"), lambda event: None, lambda driver: None)
    if receipt.exit_code != ExitCode.SUCCESS:
        raise SeaTunnelError("the rehearsal of a warm driver has failed", f"look into {place / 'home'}")


def _request(channel: socket.socket) -> Mapping[str, Any] | None:
    """The request; None if the server has ended."""
    with channel, channel.makefile("rb") as lines:
        line = lines.readline()
    return json.loads(line) if line.endswith(b"\n") else None


def _become(request: Mapping[str, Any], place: Path) -> None:
    """Take over the request's output, arguments and working directory; its job begins now."""
    output = open_to_append(Path(request["output"]))
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    prepared.enter(place, Path(request["directory"]))
    sys.argv[1:] = request["arguments"]
    app.PROCESS_STARTED = time.time()


def _recorded(file: Path) -> Sequence[str]:
    """The modules of an earlier job; none if there is no such record."""
    try:
        names = json.loads(file.read_text())
    except (OSError, ValueError):
        return ()
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else ()


def _record(file: Path, names: Iterable[str]) -> None:
    """Add the modules that the job has loaded. A record that cannot be written costs time only."""
    found = sorted({*_recorded(file), *(name for name in names if not name.startswith("__main"))})
    with suppress(OSError):
        replace_file(file, json.dumps(found[:NAMES_MAX]))


if __name__ == "__main__":
    main()
