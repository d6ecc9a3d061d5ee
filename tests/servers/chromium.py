"""The browser of the distribution, for the tests of the web page: Chromium without its windows, which needs a third of
the processor time for a new tab."""

from __future__ import annotations

from pathlib import Path

from tests.servers.process import find_program

PROGRAM = PACKAGE = "chromium-headless-shell"


def find(program: str = PROGRAM) -> Path:
    """Where the browser is. Raises ServerMissing."""
    return find_program(program, PACKAGE)
