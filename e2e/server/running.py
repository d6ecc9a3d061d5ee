"""A server by its public command line, and clients of it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from e2e.support import SEATUNNEL


@contextmanager
def server(home: Path, *more: str, warm: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running server, and where it answers."""
    environment = {**os.environ, "SEATUNNEL_HOME": str(home / ".seatunnel")}
    words = [*SEATUNNEL, "server", "run", "--port", "0", "--warm-drivers", str(warm), *more]
    process = subprocess.Popen(
        words, cwd=home, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if found := re.search(r"answers at (https?://\S+);", line):
                yield process, found[1]
                break
        else:
            raise AssertionError(f"it has ended with {process.wait()}")
    finally:
        process.kill()
        process.communicate()


def token_of(folder: Path) -> str:
    """The first token of a home."""
    return (folder / ".seatunnel/server/admin.token").read_text().strip()


def client(url: str, folder: Path) -> httpx.Client:
    """A client with the first token of a home."""
    headers = {"Authorization": f"Bearer {token_of(folder)}"}
    return httpx.Client(base_url=url, headers=headers, timeout=30, trust_env=False, verify=False)
