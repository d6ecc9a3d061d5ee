"""Implements ``seatunnel server notify-test``."""

from __future__ import annotations

import getpass
import os
import secrets
import time
from pathlib import Path

from seatunnel_py.cli.server.extra import server_parts
from seatunnel_py.cli.server.serving import settings_file_of
from seatunnel_py.cli.server.tokens import database_of_home
from seatunnel_py.cli.view.terminal import say, say_json
from seatunnel_py.config.resolve import did_you_mean
from seatunnel_py.errors import ExitCode, SeaTunnelError, first_line
from seatunnel_py.runtime.storage.home import Home


def send(name: str, settings: Path | None, *, as_json: bool) -> int:
    """Send a test event to a target, and show how that went. Exit code 1: it was not taken."""
    with server_parts():
        from seatunnel_py.control.notify.notice import test_event
        from seatunnel_py.control.notify.sending.attempt import attempt
        from seatunnel_py.control.notify.target_book import TargetBook
        from seatunnel_py.control.store.audit import Act
    home = Home.of_environment()
    file = settings_file_of(home, settings)
    if file is None:
        raise SeaTunnelError(
            f"there is no settings file {home.path / 'server.conf'}", "write it, or name another one with --settings"
        )
    targets = TargetBook(file, os.environ).settings.targets
    if name not in targets:
        meant = did_you_mean(name, targets)
        raise SeaTunnelError(f"{file} has no target {name!r}", f"{meant}it has: {', '.join(targets) or 'none'}")
    now = time.time()
    result = attempt(targets[name], test_event(now, secrets.token_hex(8), name), now)
    by = f"command line of {getpass.getuser()}"
    outcome = "done" if result.sent else f"failed: {first_line(result.error)}"
    with database_of_home() as database, database.acting(Act(by, "notify.test", name, result=outcome)):
        pass
    if as_json:
        plain = {"sent": result.sent, "code": result.code, "error": result.error, "seconds": round(result.seconds, 3)}
        say_json({"target": name, **plain})
    elif result.sent:
        code = f" with {result.code}" if result.code is not None else ""
        note = f"; {result.error}" if result.error else ""
        say(f"{name} ({targets[name].shown}) has taken the test{code} in {result.seconds:.1f} s{note}")
    else:
        say(f"{name} ({targets[name].shown}) has not taken the test: {result.error}", err=True)
    return ExitCode.SUCCESS if result.sent else ExitCode.FAILED
