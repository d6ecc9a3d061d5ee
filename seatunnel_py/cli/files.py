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


@contextmanager
def making(path: Path) -> Iterator[None]:
    """What is there already stays as it is: whoever makes something insists that it is new."""
    with writing(path):
        try:
            yield
        except FileExistsError:
            remedy = "choose another name with --to, or remove it first"
            raise SeaTunnelError(f"{path} is there already", remedy) from None
