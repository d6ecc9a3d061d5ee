"""Forks servers, so that one begins within a fraction of a second: ``python -m e2e.server_kills.fork_server HOME PORT``.

Each line of its input names a log file; the answer is the pid of a new server of the home, whose drivers run units in
their own process. It ends with its input; the servers go on.
"""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from pathlib import Path

from e2e.support import IN_PROCESS
from seatunnel_py.control.server_process import ServerProcess
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.web import serving
from seatunnel_py.web.settings import ServerSettings


def main(home: str, port: str) -> None:
    ServerProcess.open = partial(ServerProcess.open, program=IN_PROCESS)  # type: ignore[method-assign]
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel removes what has ended
    while log := sys.stdin.buffer.raw.readline().decode().strip():  # type: ignore[attr-defined]
        pid = os.fork()
        if pid == 0:
            os._exit(_serve(Path(home), int(port), log))
        print(pid, flush=True)


def _serve(home: Path, port: int, log: str) -> int:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, output), (2, output)):
        os.dup2(source, number)
    try:
        settings = ServerSettings(port=port, warm_drivers=0, requests_per_second=1_000)
        serving.serve(Home(home), settings, lambda opened: None)
    except SeaTunnelError as error:
        os.write(2, f"{error}\n".encode())
        return 1
    return 0


if __name__ == "__main__":
    main(*sys.argv[1:])
