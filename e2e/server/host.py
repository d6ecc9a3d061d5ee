"""A process that supervises a home, to be killed: ``python -m e2e.server.host HOME [--in-process] [ADDRESS]``. A file
``server.conf`` in the home has the targets of notifications, and the store."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from e2e.support import IN_PROCESS, SEATUNNEL
from seatunnel_py.control.notify.target_book import TargetBook
from seatunnel_py.control.server_process import ServerProcess
from seatunnel_py.control.settings.store_settings import store_of
from seatunnel_py.control.store import settings
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.storage.home import Home


def main(home: str, *more: str) -> int:
    program = IN_PROCESS if "--in-process" in more else SEATUNNEL
    settings_file = Path(home) / "server.conf"
    address = next((one for one in more if one.startswith("http")), "http://127.0.0.1:5801")
    try:
        book = TargetBook(settings_file if settings_file.exists() else None, os.environ)
        store = store_of(Path(home), os.environ)
        server = ServerProcess.open(Home(Path(home)), address, program=program, book=book, store=store)
    except SeaTunnelError as error:
        print(error, flush=True)
        return 1
    with server.database.writing() as connection:
        settings.keep(connection, "max-running", 4)
        settings.keep(connection, "spawn-seconds", 0.2)
    server.start()
    print("ready", flush=True)
    signal.sigwait({signal.SIGTERM})
    server.close()
    return 0


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    sys.exit(main(*sys.argv[1:]))
