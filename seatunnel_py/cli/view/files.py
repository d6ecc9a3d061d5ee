"""Files that a command is asked to write, and its output."""

from __future__ import annotations

import io
import sys
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


def keep_whole() -> None:
    """Have what is printed arrive whole. With PYTHONUNBUFFERED, as containers have it, Python forgets what a pipe did
    not take at once when a signal came meanwhile: half a receipt, and no error. A character that an encoding
    lacks is escaped, or it would end a job that has succeeded with a trace."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        raw = getattr(stream, "buffer", None)
        if isinstance(raw, io.RawIOBase):
            whole = io.BufferedWriter(raw)
            setattr(sys, name, io.TextIOWrapper(whole, stream.encoding, "backslashreplace", line_buffering=True))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
