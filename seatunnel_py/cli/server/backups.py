"""Implements ``seatunnel server backup`` and ``seatunnel server restore``."""

from __future__ import annotations

import getpass
import os
import time
from pathlib import Path

from seatunnel_py import __version__
from seatunnel_py.cli.server.extra import server_parts
from seatunnel_py.cli.view.numbers import size
from seatunnel_py.cli.view.terminal import say
from seatunnel_py.errors import ExitCode
from seatunnel_py.nouns import counted
from seatunnel_py.runtime.storage.home import Home


def back_up(file: Path, *, replaces: bool) -> int:
    """Copy the database of this home into a private file."""
    with server_parts():
        from seatunnel_py.control.settings.store_settings import store_of
        from seatunnel_py.control.store.copies import backup
        from seatunnel_py.web.serving import PRIVATE_UMASK
    os.umask(PRIVATE_UMASK)
    home, target = Home.of_environment().path, file.absolute()
    backup.back_up(store_of(home, os.environ), target, __version__, home, time.time(), replaces=replaces)
    say(f"{file} has the database of the server of {home}, {size(target.stat().st_size)}; keep it as private as that")
    return ExitCode.SUCCESS


def restore(file: Path, *, replaces: bool) -> int:
    """Give a backup back. Refused while a server runs, for it would go on with rows that are gone."""
    with server_parts():
        from seatunnel_py.control.presence.home_identity import HomeIdentity
        from seatunnel_py.control.server_lock import ServerLock
        from seatunnel_py.control.settings.store_settings import store_of
        from seatunnel_py.control.store.copies.restore import Restoring, give_back
        from seatunnel_py.web.serving import PRIVATE_UMASK
    os.umask(PRIVATE_UMASK)
    home = Home.of_environment().path
    place = store_of(home, os.environ)
    lock = ServerLock.take(home, "`seatunnel server restore`")
    try:
        by = f"command line of {getpass.getuser()}"
        done = give_back(Restoring(file, HomeIdentity.of(home), by, time.time, replaces), place)
    finally:
        lock.release()
    made = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(done.facts.made_at))
    found = counted(done.begun.definitions, "definition")
    say(f"{place.shown} has the database of {done.facts.home} at {made}: {found}")
    if done.begun.dropped:
        starts = counted(done.begun.dropped, "start")
        say(f"{starts} that waited then: dropped; start them again if they are still needed")
    if done.begun.revoked:
        say(f"{counted(done.begun.revoked, 'token')} that were revoked since: they stay so")
    say("sessions of browsers are over; check `seatunnel server token list`, and start the server")
    return ExitCode.SUCCESS
