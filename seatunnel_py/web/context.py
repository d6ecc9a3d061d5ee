"""The parts of a running server that routes use."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from fastapi import Request

from seatunnel_py.control.run_index import RunIndex
from seatunnel_py.control.server_process import ServerProcess
from seatunnel_py.control.store.database import Database
from seatunnel_py.control.store.sessions import BrowserSession
from seatunnel_py.control.store.tokens import Token
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.web.access import Access
from seatunnel_py.web.reading.live import LiveHub
from seatunnel_py.web.reading.page_files import PageFiles
from seatunnel_py.web.reading.run_files import RunFiles
from seatunnel_py.web.rest_v2.job_reader import JobReader
from seatunnel_py.web.server_metrics import ServerMetrics
from seatunnel_py.web.settings import ServerSettings


@dataclass(frozen=True, slots=True)
class ServerContext:
    """One server. ``stopping`` is set when it ends; ``jobs``: as SeaTunnel's clients see them, None: that interface is
    off; ``started``: monotonic seconds."""

    control: ServerProcess
    settings: ServerSettings
    files: RunFiles
    access: Access
    hub: LiveHub
    metrics: ServerMetrics
    stopping: asyncio.Event
    jobs: JobReader | None = None
    page: PageFiles = field(default_factory=PageFiles)
    started: float = field(default_factory=time.monotonic)

    @property
    def home(self) -> Home:
        return self.control.home

    @property
    def database(self) -> Database:
        return self.control.database

    @property
    def index(self) -> RunIndex:
        return self.control.index


def context_of(request: Request) -> ServerContext:
    """The server of a request."""
    found: ServerContext = request.app.state.context
    return found


def caller_of(request: Request) -> Token | None:
    """The token of a request; None: a probe without one."""
    found: Token | None = request.scope.get("token")
    return found


def session_of(request: Request) -> BrowserSession | None:
    """The session of a request; None: a program has sent it."""
    found: BrowserSession | None = request.scope.get("session")
    return found
