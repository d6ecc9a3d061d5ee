"""Where the model checker and its compiler are."""

from __future__ import annotations

from pathlib import Path

from tests.servers.process import find_program

PACKAGES = {"spin": "spin", "gcc": "gcc"}


def find(program: str) -> Path:
    """spin writes a search program in C, gcc compiles it."""
    return find_program(program, PACKAGES[program], ())
