"""The browser of the distribution, for the tests of the web page."""

from __future__ import annotations

from pathlib import Path

from tests.servers.process import find_program

PACKAGE = "chromium"


def find(program: str) -> Path:
    """Where the browser is. Raises ServerMissing."""
    return find_program(program, PACKAGE)
