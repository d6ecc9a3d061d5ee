"""Implements ``seatunnel server login-link``."""

from __future__ import annotations

import getpass
import sys
import time
from pathlib import Path

from seatunnel_py.cli.server.extra import server_parts
from seatunnel_py.cli.server.tokens import database_of_home
from seatunnel_py.cli.view.terminal import say
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.runtime.storage.home import Home


def show(token_file: Path | None) -> int:
    """Print a link that logs a browser in once."""
    if not sys.stdout.isatty():
        raise SeaTunnelError(
            "the output is not a terminal, and a link opens the server", "run it on a terminal; a program uses a token"
        )
    with server_parts():
        from seatunnel_py.control.server_lock import ServerLock
        from seatunnel_py.web.login.login_links import MINUTES, login_link
        from seatunnel_py.web.serving import token_file_of
    home = Home.of_environment()
    url = ServerLock.address(home.path)
    if url is None:
        raise SeaTunnelError(f"no server of {home.path} runs", "start one: seatunnel server run")
    by = f"command line of {getpass.getuser()}"
    with database_of_home() as database:
        link = login_link(database, url, token_file or token_file_of(home), by, time.time())
    say(f"log in with your browser, once, in the next {MINUTES} minutes:", err=True)
    say(link)
    return ExitCode.SUCCESS
