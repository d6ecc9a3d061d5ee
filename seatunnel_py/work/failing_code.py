"""Finds the lines of a plugin that raised an exception: its author needs file and line, which the message lacks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from seatunnel_py.errors import worded

OURS = "seatunnel_py"
SHOWS_TRACE = "--debug shows the trace"
MEND = "correct the plugin, or report it to its author"


@dataclass(frozen=True, slots=True)
class FailingCode:
    """``method`` is the plugin's method that was called, as ``Reader.read``; ``place`` is the innermost of its
    lines."""

    method: str
    place: str


def failing_code(error: BaseException) -> FailingCode | None:
    """The plugin's lines in the traceback; None if only other code raised the exception."""
    foreign = [frame for frame in _frames(error.__traceback__) if _package(frame) not in _NO_PLUGINS]
    if not foreign:
        return None
    first = foreign[0]
    last = next(frame for frame in reversed(foreign) if _package(frame) == _package(first))
    return FailingCode(first.tb_frame.f_code.co_qualname, f"{_file(last)}:{last.tb_lineno}")


def described(error: BaseException, plugin: str = "", method: str = "") -> str:
    """Describe the exception in a line: which method of which plugin failed, why, and where. ``method`` is the called
    method, if the caller knows it. No line of the plugin has run if its method cannot be called with the right
    arguments."""
    code = failing_code(error)
    text = worded(error)
    if code is None and not method:
        return f"at a step of the plugin {plugin}: {text}" if plugin else text
    called = method or (code.method if code else "")
    if plugin:
        called = f"{called.rpartition('.')[2]} of the plugin {plugin}"
    return f"{called} failed: {text}{f' ({code.place})' if code else ''}"


_NO_PLUGINS = frozenset({OURS, "", "__main__", "pyarrow", "pyspark", "py4j", *sys.stdlib_module_names})


def _frames(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _package(frame: TracebackType) -> str:
    return _module(frame).partition(".")[0]


def _module(frame: TracebackType) -> str:
    return str(frame.tb_frame.f_globals.get("__name__") or "")


def _file(frame: TracebackType) -> str:
    """Shorten a path to start at the package: its install location does not matter."""
    path = Path(frame.tb_frame.f_code.co_filename)
    depth = _module(frame).count(".") + (2 if path.stem == "__init__" else 1)
    return "/".join(path.parts[-depth:])
