"""The server as a service: its notices to the service manager."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from e2e.server.running import server
from seatunnel_py.control.launching import environment_of
from seatunnel_py.web.service.service_notices import ALIVE, ENDING, READY, notify, serve_notices, watch_seconds


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The socket of a service manager."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(str(tmp_path / "notify"))
        made.settimeout(30)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield made


def received(manager: socket.socket) -> str:
    return manager.recv(1_000).decode()


def test_a_real_server_sends_ready_alive_and_stopping(
    manager: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers when it is ready."""
    monkeypatch.setenv("WATCHDOG_USEC", "1000000")
    with server(tmp_path) as (process, url):
        assert received(manager) == READY
        assert httpx.get(f"{url}/livez", trust_env=False, timeout=10).status_code == 200
        began = time.monotonic()
        assert [received(manager) for _ in range(5)] == [ALIVE] * 5
        assert time.monotonic() - began < 10
        process.send_signal(signal.SIGTERM)
        while (notice := received(manager)) == ALIVE:
            continue
        assert notice == ENDING and process.wait(20) == 0


def test_a_server_whose_supervisor_hangs_is_not_alive(manager: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the service manager starts it again."""
    monkeypatch.setenv("WATCHDOG_USEC", "100000")
    turns = iter([True, False, False, True])

    async def watched() -> None:
        task = asyncio.ensure_future(serve_notices(lambda: next(turns, False)))
        await asyncio.sleep(0.5)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(watched())
    assert [received(manager) for _ in range(4)] == [READY, ALIVE, ALIVE, ENDING]


@pytest.mark.parametrize("address", ["", "relative", "/nowhere/at/all", "@seatunnel-no-such-socket"])
def test_without_a_service_manager_nothing_happens(address: str) -> None:
    notify(READY, {"NOTIFY_SOCKET": address})


def test_the_limit_of_another_process_is_not_ours() -> None:
    assert watch_seconds({"WATCHDOG_USEC": "60000000"}) == 30
    assert watch_seconds({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": str(os.getpid())}) == 30
    for other in ({}, {"WATCHDOG_USEC": "x"}, {"WATCHDOG_USEC": "0"}, {"WATCHDOG_USEC": "6", "WATCHDOG_PID": "1"}):
        assert watch_seconds(other) is None


def test_a_job_does_not_get_the_socket_of_the_service_manager(tmp_path: Path) -> None:
    """Its notices would count as those of the server."""
    own = {"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "6", "PATH": "/bin"}
    assert environment_of(own, (), tmp_path).keys() == {"PATH", "SEATUNNEL_HOME"}
