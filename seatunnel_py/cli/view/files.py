"""Writes output files of commands, and standard output."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seatunnel_py.errors import SeaTunnelError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Wraps writing; an error names the file."""
    try:
        yield
    except OSError as error:
        raise SeaTunnelError(f"cannot write {path}: {error.strerror or error}", "choose another file") from error


@contextmanager
def making(path: Path) -> Iterator[None]:
    """Wraps the creation of a new file; an existing one is not overwritten."""
    with writing(path):
        try:
            yield
        except FileExistsError:
            remedy = "choose another name with --to, or remove it first"
            raise SeaTunnelError(f"{path} is there already", remedy) from None


def keep_whole() -> None:
    """Make printed output arrive whole. With PYTHONUNBUFFERED, common in containers, Python drops the rest of a partial
    pipe write if a signal arrived meanwhile: half a receipt, and no error. Escape characters that the encoding lacks,
    or they would end a successful job with a traceback."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        raw = getattr(stream, "buffer", None)
        if isinstance(raw, io.RawIOBase):
            whole = io.BufferedWriter(raw)
            setattr(sys, name, io.TextIOWrapper(whole, stream.encoding, "backslashreplace", line_buffering=True))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
