"""A real server on a real socket, over a home with real runs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from seatunnel_py import app
from seatunnel_py.control.launching import Launcher
from seatunnel_py.control.notify.target_book import TargetBook
from seatunnel_py.control.server_process import ServerProcess
from seatunnel_py.control.store import tokens
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.places.store_place import StorePlace
from seatunnel_py.control.store.tokens import Role, TokenWish
from seatunnel_py.runtime.observe.receipt import Receipt
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.web.context import ServerContext
from seatunnel_py.web.serving import EndingServer, config_of, context_for, listening
from seatunnel_py.web.settings import ServerSettings

JOB = """
env { job.name = NAME }
source { FakeSource { row.num = ROWS, schema { table = "TABLE", fields { id = bigint } } } }
sink { Console {} }
"""
CALM = ServerSettings(
    port=0, requests_per_second=10_000, costly_per_minute=10_000, checks_per_minute=10_000, logins_per_minute=10_000
)
"""Settings whose rates no test reaches."""
LEFT: list[Launcher] = []
"""Drivers go on after the end of their server: an object that drops them while they run is a warning in a later test."""


def run_job(home: Home, job_id: str, *, rows: int = 20, table: str = "shop.events", name: str = "shop") -> Receipt:
    """Run a tiny job in this process."""
    file = home.path.parent / f"{job_id}.conf"
    file.write_text(JOB.replace("NAME", name).replace("ROWS", str(rows)).replace("TABLE", table))
    return app.run(file, app.RunOptions({}, job_id, local=True), home, lambda _: None, lambda _: None)


@dataclass
class Served:
    """A server that answers. ``tokens``: the text of a token for each role."""

    url: str
    home: Home
    context: ServerContext
    server: EndingServer
    thread: threading.Thread
    tokens: dict[Role, str] = field(default_factory=dict)
    clients: dict[str, httpx.Client] = field(default_factory=dict)

    def client(self, role: Role | None = Role.READ, **more: Any) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.tokens[role]}"} if role else {}
        # Reading the certificates that plain HTTP never uses takes ten times as long as a request.
        return httpx.Client(base_url=self.url, headers=headers, timeout=30, trust_env=False, verify=False, **more)

    def kept_client(self, role: Role | None) -> httpx.Client:
        """One client for all short requests of a token: to make it takes longer than a request."""
        token = self.tokens[role] if role else ""
        found = self.clients.get(token)
        return self.clients.setdefault(token, self.client(role)) if found is None else found

    def get(self, path: str, role: Role | None = Role.READ, **query: Any) -> httpx.Response:
        path = path if path.startswith("/") else f"/api/v1/{path}"
        return self.kept_client(role).get(path, params=query or None)

    def send(
        self, method: str, path: str, body: Any = None, role: Role | None = Role.ADMIN, **headers: str
    ) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        plain = {} if body is None else body
        return self.kept_client(role).request(method, f"/api/v1/{path}", json=plain, headers=named)

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self.context.settings.port

    def issue(self, role: Role, name: str = "", seconds: float = 3_600.0) -> tuple[str, str]:
        """The id and the text of a new token."""
        wish = TokenWish(name or f"{role.value}-{time.monotonic_ns()}", role, seconds=seconds)
        with self.context.database.acting(Act("test", "token.create")) as write:
            made, text = tokens.issue(write.connection, wish, "test", time.time())
        return made.id, text

    def stop(self) -> float:
        """End it as SIGTERM does; returns how long that took."""
        begun = time.monotonic()
        self.server.should_exit = True
        self.thread.join(30)
        assert not self.thread.is_alive()
        return time.monotonic() - begun


@contextmanager
def serving(
    folder: Path,
    settings: ServerSettings = CALM,
    home: Home | None = None,
    store: StorePlace | None = None,
    address: str = "http://server",
) -> Iterator[Served]:
    """A server over ``home``, by default one below this folder. ``store``: its database, which others may have, too."""
    home = home or Home(folder / ".seatunnel")
    home.path.mkdir(mode=0o700, exist_ok=True)
    passed = frozenset(settings.environment)
    book = TargetBook(settings.settings_file, os.environ)
    opened = partial(ServerProcess.open, home, address, passed=passed, book=book, store=store)
    with closing(listening(settings)) as listener, closing(opened()) as control:
        settings = replace(settings, port=listener.getsockname()[1])
        context = context_for(control, settings)
        control.start()
        LEFT.append(control.supervisor.launcher)
        server = EndingServer(config_of(context), context.stopping)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        served = Served(f"http://127.0.0.1:{settings.port}", home, context, server, thread)
        served.tokens |= {role: served.issue(role, role.value if store is None else "")[1] for role in Role}
        thread.start()
        try:
            until = time.monotonic() + 60
            while not server.started:
                assert thread.is_alive() and time.monotonic() < until
                time.sleep(0.01)
            yield served
        finally:
            for client in served.clients.values():
                client.close()
            if thread.is_alive():
                served.stop()
