"""Implements ``seatunnel server token``: makes, lists and revokes tokens in the database of this home."""

from __future__ import annotations

import getpass
import os
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from seatunnel_py.cli.server.extra import server_parts
from seatunnel_py.cli.view.terminal import say, say_json
from seatunnel_py.config.resolve import did_you_mean
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.runtime.storage.home import Home

if TYPE_CHECKING:
    from seatunnel_py.control.store.database import Database

DAY_SECONDS = 86_400.0
STDOUT = Path("-")


@contextmanager
def database_of_home() -> Iterator[Database]:
    """The database of the server of SEATUNNEL_HOME, also while that runs."""
    with server_parts():
        from seatunnel_py.control.presence.home_identity import HomeIdentity
        from seatunnel_py.control.server_process import opened_store
        from seatunnel_py.control.settings.store_settings import store_of
        from seatunnel_py.web.serving import PRIVATE_UMASK
    os.umask(PRIVATE_UMASK)
    home = Home.of_environment().path
    place = store_of(home, os.environ)
    with closing(opened_store(place, HomeIdentity.of(home), time.time)) as database:
        yield database


def create(name: str, role: str, days: float, to: Path | None, *, data: bool) -> int:
    """Make a token, and show it once."""
    with database_of_home() as database:
        from seatunnel_py.control.store import tokens
        from seatunnel_py.control.store.audit import Act
        from seatunnel_py.web.serving import write_token

        roles = [one.value for one in tokens.Role]
        if role not in roles:
            meant = did_you_mean(role, roles)
            raise SeaTunnelError(f"there is no role {role!r}", f"{meant}valid: {', '.join(roles)}")
        if to is None and not sys.stdout.isatty():
            raise SeaTunnelError("the output is not a terminal", "name a file with --to FILE, or print with `--to -`")
        wish = tokens.TokenWish(name, tokens.Role(role), data, days * DAY_SECONDS)
        by = f"command line of {getpass.getuser()}"
        with database.acting(Act(by, "token.create", name)) as write:
            made, text = tokens.issue(write.connection, wish, by, time.time())
            if to not in (None, STDOUT):
                write_token(to, text)
    until = _day(made.expires_at)
    if to in (None, STDOUT):
        say(f"the token {name!r} with the role {role}, valid until {until}:", err=True)
        say(text)
    else:
        say(f"the token {name!r} with the role {role}, valid until {until}, is in {to}")
    return ExitCode.SUCCESS


def listing(*, as_json: bool) -> int:
    """All tokens, oldest first."""
    with database_of_home() as database:
        from seatunnel_py.control.store import tokens

        with database.reading() as connection:
            found = tokens.listing(connection)
    if as_json:
        say_json([{**asdict(one), "valid": one.valid(time.time())} for one in found])
        return ExitCode.SUCCESS
    if not found:
        say("there is no token; `seatunnel server token create NAME` makes one")
    for one in found:
        state = f"until {_day(one.expires_at)}" if one.valid(time.time()) else "not valid any more"
        used = "never used" if one.used_at is None else f"last used {_day(one.used_at)}"
        say(f"{one.id}  {one.role.value:8} {one.name:24} {state}, {used}")
    return ExitCode.SUCCESS


def revoke(given: str) -> int:
    """End a token by its id, or by the name of a valid one."""
    with database_of_home() as database:
        from seatunnel_py.control.store import tokens
        from seatunnel_py.control.store.audit import Act

        with database.reading() as connection:
            found = tokens.listing(connection)
        named = [one for one in found if one.id == given or (one.name == given and one.valid(time.time()))]
        if not named:
            meant = did_you_mean(given, [one.name for one in found])
            raise SeaTunnelError(f"there is no valid token {given!r}", f"{meant}`seatunnel server token list`")
        by = f"command line of {getpass.getuser()}"
        with database.acting(Act(by, "token.revoke", named[0].id)) as write:
            tokens.revoke(write.connection, named[0].id, time.time())
    say(f"the token {named[0].name!r} is revoked")
    return ExitCode.SUCCESS


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
