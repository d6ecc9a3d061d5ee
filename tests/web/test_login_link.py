"""Links that log in once: printed on a terminal only, by the server and by a command."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

PROGRAM = [sys.executable, "-m", "seatunnel_py", "server"]
LINK = re.compile(r"(http://\S+)/#login=([\w-]{43})\b")


@contextmanager
def on_terminal(*words: str, home: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A command whose output is a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "SEATUNNEL_HOME": str(home), "COLUMNS": "300"}
    child = subprocess.Popen([*PROGRAM, *words], env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        yield child, ours
    finally:
        child.terminate()
        child.wait(20)
        os.close(ours)


def link_in(terminal: int, seconds: float = 60) -> tuple[str, str]:
    """The address and the code of the link that a command prints."""
    seen, until = "", time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            seen += os.read(terminal, 10_000).decode()
        except OSError:  # the command has ended
            break
        if found := LINK.search(seen.replace("\r\n", "\n")):
            return found[1], found[2]
    pytest.fail(f"no link: {seen}")


def login(url: str, code: str) -> httpx.Response:
    return httpx.post(f"{url}/api/v1/session", json={"code": code}, timeout=30, trust_env=False)


def test_links_log_in_once(tmp_path: Path) -> None:
    """That of the start, and further ones of a command; no file or pipe gets one."""
    home = tmp_path / ".seatunnel"
    with on_terminal("run", "--port", "0", home=home) as (server, terminal):
        url, code = link_in(terminal)
        first = login(url, code)
        assert (first.status_code, first.json()["role"], first.json()["name"]) == (201, "admin", "admin")
        assert login(url, code).status_code == 401
        with on_terminal("login-link", home=home) as (_, other):
            assert login(*link_in(other)).status_code == 201
        piped = subprocess.run(
            [*PROGRAM, "login-link"], env={**os.environ, "SEATUNNEL_HOME": str(home)}, text=True, capture_output=True
        )
        assert piped.returncode == 1 and "not a terminal" in piped.stderr and "login=" not in piped.stdout
        assert server.poll() is None
    with on_terminal("login-link", home=home) as (ended, other):
        assert ended.wait(60) == 1
        assert b"no server" in os.read(other, 10_000)
