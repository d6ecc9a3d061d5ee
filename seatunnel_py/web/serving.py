"""Runs the server: its socket, its database, its first token, and its end.

Rules. (1) A port that is taken is an error: no other one is tried. (2) The first start writes a token for an
administrator into a private file, and nothing else shows it. (3) At its end all streams get a farewell first, because
open ones would hold it up. Jobs are processes of their own, and go on.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TextIO

import uvicorn

from seatunnel_py.api.process.egress.egress_rules import VARIABLE
from seatunnel_py.api.process.port_owner import owner_of
from seatunnel_py.api.process.private_files import make_private
from seatunnel_py.control.notify.target_book import TargetBook
from seatunnel_py.control.server_process import ServerProcess
from seatunnel_py.control.settings.store_settings import store_of
from seatunnel_py.control.store import tokens
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.database import Database
from seatunnel_py.control.store.tokens import Role, TokenWish
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.jobs.home_metrics import metrics_of
from seatunnel_py.redaction import redacted_text
from seatunnel_py.runtime.observe.metric_text import Metric
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.web.access import Access
from seatunnel_py.web.application import application
from seatunnel_py.web.context import ServerContext
from seatunnel_py.web.login.login_links import login_link
from seatunnel_py.web.reading.job_child import forget_questions
from seatunnel_py.web.reading.live import LiveHub
from seatunnel_py.web.reading.page_files import FOLDER
from seatunnel_py.web.reading.page_seal import require_unchanged
from seatunnel_py.web.reading.run_files import RunFiles
from seatunnel_py.web.rest_v2.job_reader import JobReader
from seatunnel_py.web.server_metrics import ServerMetrics
from seatunnel_py.web.settings import ServerSettings, require_safe

END_SECONDS = 5
CONNECTIONS_MAX = 1_000
BACKLOG = 128
PORT_SECONDS = 2.0
PORT_PAUSE_SECONDS = 0.05
PRIVATE_UMASK = 0o077
FIRST = "first-start"


@dataclass(frozen=True, slots=True)
class Opened:
    """A server that is about to answer. ``token_file``: where the first token is; None: it was made before. ``link``:
    logs a person in once, empty: none was wished, or no file has a valid token."""

    url: str
    token_file: Path | None
    link: str = ""


class EndingServer(uvicorn.Server):
    """Ends open streams when it ends."""

    def __init__(self, config: uvicorn.Config, stopping: asyncio.Event) -> None:
        super().__init__(config)
        self._stopping = stopping

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End: streams first."""
        self._stopping.set()
        await super().shutdown(sockets)


def token_file_of(home: Home) -> Path:
    """The file of the first token."""
    return home.path / "server" / "admin.token"


def serve(home: Home, settings: ServerSettings, opened: Callable[[Opened], None], *, link: bool = False) -> None:
    """Answer requests until a signal ends it; ``link``: with a link that logs in once. Raises SeaTunnelError if it
    cannot begin."""
    os.umask(PRIVATE_UMASK)  # for the files that SQLite makes beside its database
    require_safe(settings)
    require_unchanged(FOLDER)
    _require_private(token_file_of(home))
    log_to(sys.stderr)
    book = TargetBook(settings.settings_file, os.environ)
    store = store_of(home.path, os.environ, settings.settings_file)
    os.environ[VARIABLE] = book.settings.egress.text  # drivers and questions about job files get it
    with closing(listening(settings)) as listener:
        settings = replace(settings, port=listener.getsockname()[1])
        url, page = url_of(settings), page_url_of(settings)
        passed, warm = frozenset(settings.environment), settings.warm_drivers
        opened_control = ServerProcess.open(home, page, passed=passed, warm_drivers=warm, book=book, store=store)
        with closing(opened_control) as control:
            forget_questions(home, alone=control.lock.note is None)
            token_file = first_token(home, control.database)
            control.lock.note_probed(probed_url_of(settings))
            context = context_for(control, settings)
            control.start()
            server = EndingServer(config_of(context), context.stopping)
            opened(Opened(url, token_file, _link(home, control.database, page) if link else ""))
            with _signals_only_end_it():
                server.run([listener])


def _link(home: Home, database: Database, url: str) -> str:
    """A link for the first token; empty if that is not valid any more."""
    with suppress(SeaTunnelError):
        return login_link(database, url, token_file_of(home), FIRST, time.time())
    return ""


def url_of(settings: ServerSettings) -> str:
    """The address at which the server answers."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{'https' if settings.tls else 'http'}://{host}:{settings.port}"


def probed_url_of(settings: ServerSettings) -> str:
    """The address at which a process of this machine reaches the server."""
    any_address = {"0.0.0.0": "127.0.0.1", "::": "::1"}
    return url_of(replace(settings, host=any_address.get(settings.host, settings.host)))


def page_url_of(settings: ServerSettings) -> str:
    """The address for a browser: with a name of the server where it listens at every address, or a proxy is before
    it."""
    if settings.trusted_proxies and settings.allowed_hosts:
        return f"https://{settings.allowed_hosts[0]}"
    if settings.host in ("0.0.0.0", "::"):
        return url_of(replace(settings, host=next(iter(settings.allowed_hosts), "127.0.0.1")))
    return url_of(settings)


@contextmanager
def _signals_only_end_it() -> Iterator[None]:
    """uvicorn ends at a signal, and raises it again afterwards: the process would not end in order."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def context_for(control: ServerProcess, settings: ServerSettings) -> ServerContext:
    """The parts of a server over a home."""
    home = control.home
    stopping = asyncio.Event()
    files = RunFiles(control.index)
    metrics = ServerMetrics(partial(_run_metrics, home, files), control.notifier.standings)
    hub = LiveHub(control.index, stopping, settings.ping_seconds)
    metrics.streams.set_function(lambda: hub.count)
    metrics.warm_drivers.set_function(lambda: control.warm.ready)
    access = Access(control.database, settings, metrics.login_failures.inc)
    api = settings.seatunnel
    jobs = JobReader(control, files, api.partial) if api.enabled else None
    return ServerContext(control, settings, files, access, hub, metrics, stopping, jobs)


def _run_metrics(home: Home, files: RunFiles) -> Sequence[Metric]:
    places = list(home.jobs())
    files.forget_records([place.job_id for place in places])
    return metrics_of(home, places, whole=True, read=files.record)


def config_of(context: ServerContext) -> uvicorn.Config:
    """The settings of uvicorn."""
    settings = context.settings
    return uvicorn.Config(
        application(context),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=END_SECONDS,
        limit_concurrency=CONNECTIONS_MAX,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=",".join(settings.trusted_proxies),
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
        http="h11",
        ws="none",
    )


def listening(settings: ServerSettings) -> socket.socket:
    """A socket that listens. A server that was killed while it started a driver leaves its port to that process for a
    moment. Raises SeaTunnelError for a port that is taken for longer, and for an address that is not here."""
    until = time.monotonic() + PORT_SECONDS
    while True:
        try:
            return _bound(settings)
        except OSError as error:
            if error.errno == errno.EADDRINUSE and time.monotonic() < until:
                time.sleep(PORT_PAUSE_SECONDS)
                continue
            raise _not_bound(settings, error) from None


def _bound(settings: ServerSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((settings.host, settings.port))
        made.listen(BACKLOG)
    except OSError:
        made.close()
        raise
    return made


def _not_bound(settings: ServerSettings, error: OSError) -> SeaTunnelError:
    where = f"{settings.host}:{settings.port}"
    if error.errno == errno.EADDRINUSE:
        why = f"the port {settings.port} of {settings.host} is taken{owner_of(settings.port)}"
        return SeaTunnelError(why, "end that program, or choose another port with --port")
    return SeaTunnelError(f"cannot listen at {where}: {error.strerror}", "choose another --host or --port")


def first_token(home: Home, database: Database) -> Path | None:
    """Make a token for an administrator if there has never been one. Returns the file that has it. A file that is there
    is of a start that was killed before its database had the token, or of a database that was deleted."""
    file = token_file_of(home)
    if _has_token(database):
        return None
    try:
        with database.acting(Act(FIRST, "token.create", "admin")) as write:
            _, text = tokens.issue(write.connection, TokenWish("admin", Role.ADMIN), FIRST, time.time())
            file.unlink(missing_ok=True)
            write_token(file, text)
    except SeaTunnelError:
        if _has_token(database):  # another server of this home has made it at the same moment
            return None
        raise
    return file


def _has_token(database: Database) -> bool:
    with database.reading() as connection:
        return bool(tokens.listing(connection))


def write_token(file: Path, text: str) -> None:
    """Write a token into a new private file. Raises SeaTunnelError if there is one of that name."""
    make_private(file.absolute().parent)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(file, flags, 0o600), "w") as opened:
            opened.write(f"{text}\n")
    except OSError as error:
        raise SeaTunnelError(f"cannot write {file}: {error.strerror}", "remove it, or name another file") from None


def _require_private(file: Path) -> None:
    """Raises SeaTunnelError for a file of a token that others could read."""
    try:
        mode = file.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode) or stat.S_IMODE(mode) & 0o077:
        raise SeaTunnelError(
            f"other users may read {file}", f"chmod 600 {file}; and, if they have read it, revoke that token"
        )


class _Masked(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """The line of the log, without secrets."""
        return redacted_text(super().format(record))


def log_to(stream: TextIO) -> None:
    """Write warnings and errors of the server there."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Masked("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    for name in ("seatunnel.server", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(logging.WARNING)
        logger.propagate = False
