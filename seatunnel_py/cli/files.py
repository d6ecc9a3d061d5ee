"""Files that a command is asked to write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seatunnel_py.errors import SeaTunnelError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Says which file it was that could not be written."""
    try:
        yield
    except OSError as error:
        raise SeaTunnelError(f"cannot write {path}: {error.strerror or error}", "choose another file") from error
