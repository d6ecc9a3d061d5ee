"""Implements ``seatunnel server run``."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seatunnel_py.cli.server.extra import server_parts
from seatunnel_py.cli.view.terminal import say
from seatunnel_py.errors import ExitCode
from seatunnel_py.runtime.storage.home import Home

if TYPE_CHECKING:
    from seatunnel_py.web.serving import Opened

LINK_MINUTES = 10


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """Options of the command."""

    host: str
    port: int
    certificate: Path | None
    key: Path | None
    proxies: tuple[str, ...]
    hosts: tuple[str, ...]
    environment: tuple[str, ...]
    warm_drivers: int
    settings_file: Path | None
    seatunnel: SeaTunnelRequest


@dataclass(frozen=True, slots=True)
class SeaTunnelRequest:
    """Options of SeaTunnel's API, as ``SeaTunnelApi`` of the server has them."""

    enabled: bool
    v1: bool
    partial: str
    status_open: tuple[str, ...]
    strict: bool


def run(request: ServerRequest) -> int:
    """Serve until a signal ends it."""
    with server_parts():
        from seatunnel_py.web.serving import serve
        from seatunnel_py.web.settings import SeaTunnelApi, ServerSettings
    home = Home.of_environment()
    settings = ServerSettings(
        request.host,
        request.port,
        request.certificate,
        request.key,
        request.proxies,
        request.hosts,
        request.environment,
        request.warm_drivers,
        settings_file_of(home, request.settings_file),
        seatunnel=SeaTunnelApi(**asdict(request.seatunnel)),
    )
    serve(home, settings, _tell, link=sys.stdout.isatty())
    say("the server has ended; jobs go on")
    return ExitCode.SUCCESS


def settings_file_of(home: Home, given: Path | None) -> Path | None:
    """The settings file of a server; None: none is given, and none is in its home."""
    default = home.path / "server.conf"
    return given if given is not None else default if default.is_file() else None


def _tell(opened: Opened) -> None:
    if opened.token_file is not None:
        say(f"a token for an administrator is in {opened.token_file}")
    say(f"the server answers at {opened.url}; Ctrl-C ends it")
    if opened.link:
        say(f"log in with your browser, once, in the next {LINK_MINUTES} minutes: {opened.link}")
