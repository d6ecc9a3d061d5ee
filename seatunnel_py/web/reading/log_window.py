"""A window of a file of lines that a driver writes: its log, or its events.

Rules. (1) A position is a generation and an offset in it, ``GENERATION:OFFSET``; a generation keeps its name until it
is deleted, so a reader goes on in it after a rotation. (2) A position of a generation that is gone, or after the end of
a file that was cut, is refused with the position to go on from. (3) At most ``WINDOW_BYTES`` are read for an answer;
lines end at ``LINE_BYTES``, with a mark. (4) Half a last line waits until it is whole, while a driver is alive.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from seatunnel_py.redaction import redacted_text
from seatunnel_py.runtime.observe.rotated_files import generations
from seatunnel_py.terminal_text import terminal_text
from seatunnel_py.web.problems import ApiError

WINDOW_BYTES = 64 * 2**10
LINE_BYTES = 8 * 2**10
NEWEST_BYTES = 8 * 2**10
_POSITION = re.compile(r"(\d{1,9}\.[0-9a-f]{1,16}):(\d{1,15})")
_FROM_END = re.compile(r"-(\d{1,9})")
_UTF8_BYTES_MAX = 4
_PICTURES = {code: 0x2400 + code for code in range(32) if code not in (9, 10)} | {127: 0x2421}


@dataclass(frozen=True, slots=True)
class Generation:
    """One file. ``name``: its number and the identity of the file, because another file may get its number."""

    name: str
    path: Path
    size: int

    def at(self, offset: int) -> str:
        """The position of an offset."""
        return f"{self.name}:{offset}"


@dataclass(frozen=True, slots=True)
class Window:
    """Bytes of a file. ``next``: where the next window begins; ``end``: there is nothing after it yet."""

    generation: Generation
    begin: int
    data: bytes
    next: str
    end: bool


def generations_of(path: Path) -> Sequence[Generation]:
    """The files of a rotated file, oldest first."""
    paths = generations(path)
    older = [int(one.stem.rpartition("-")[2]) for one in paths[:-1]]
    numbers = [*older, older[-1] + 1 if older else 1]
    found = []
    for number, one in zip(numbers, paths, strict=True):
        with suppress(OSError):
            about = one.lstat()
            found.append(Generation(f"{number}.{about.st_ino:x}", one, about.st_size))
    return found


def window(path: Path, position: str, size: int, *, alive: bool) -> Window | None:
    """The window from a position: ``GENERATION:OFFSET``, or ``-N`` for the last N bytes. None: there is no file yet.
    Raises ApiError: 410 for a position that is gone, 422 for any other text."""
    found = generations_of(path)
    if not found:
        return None
    if match := _FROM_END.fullmatch(position):
        chosen = found[-1]
        begin = max(0, chosen.size - int(match[1]))
        return _read(found, chosen, begin, size, alive=alive, whole=begin > 0)
    match = _POSITION.fullmatch(position)
    if match is None:
        raise ApiError(422, "request", "`from` is not a position", "send `next` of an earlier window, or -BYTES")
    named = next((one for one in found if one.name == match[1]), None)
    if named is None:
        raise _gone(found, "this part of the file is not there any more")
    if int(match[2]) > named.size:
        raise _gone(found, "the file was cut, and is shorter now")
    return _read(found, named, int(match[2]), size, alive=alive)


def _gone(found: Sequence[Generation], why: str) -> ApiError:
    more = {"next": found[0].at(0), "newest": found[-1].at(0)}
    return ApiError(410, "gone", why, "go on from `next`, the oldest line that is there, or from `newest`", more=more)


def _read(
    found: Sequence[Generation], chosen: Generation, begin: int, size: int, *, alive: bool, whole: bool = False
) -> Window:
    """``whole``: begin after the first line feed, for the window begins anywhere."""
    try:
        descriptor = os.open(chosen.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        raise _gone(found, "this part of the file cannot be read any more") from None
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise _gone(found, "this is not a file")
        newest = chosen is found[-1]
        if not chosen.name.endswith(f".{about.st_ino:x}"):  # it was rotated since
            raise ApiError(503, "rotated", "the file is being rotated", "ask again", headers={"Retry-After": "1"})
        data = os.pread(descriptor, size, begin)
    finally:
        os.close(descriptor)
    if whole:
        skipped = data.find(b"\n") + 1
        begin, data = begin + skipped, data[skipped:]
    at_end = begin + len(data) >= chosen.size
    data = _whole_lines(data, at_end=at_end, waits=newest and alive, full=len(data) >= size)
    end = begin + len(data)
    if end >= chosen.size and not newest:
        return Window(chosen, begin, data, found[found.index(chosen) + 1].at(0), False)
    return Window(chosen, begin, data, chosen.at(end), at_end)


def _whole_lines(data: bytes, *, at_end: bool, waits: bool, full: bool) -> bytes:
    """The data up to its last line feed. A line that is longer than a window is handed out in parts."""
    if data.endswith(b"\n"):
        return data
    if at_end and not waits:
        return data
    cut = data.rfind(b"\n") + 1
    if cut:
        return data[:cut]
    if not full:
        return b""
    for shorter in range(1, _UTF8_BYTES_MAX):  # no character is divided
        if data[-shorter] >= 0xC0:
            return data[:-shorter]
        if data[-shorter] < 0x80:
            break
    return data


def shown_lines(data: bytes) -> Iterator[str]:
    """The lines of a window, safe to be shown: long ones are cut, control characters are pictures."""
    for line in data.removesuffix(b"\n").split(b"\n") if data else ():
        kept = line[:LINE_BYTES].decode(errors="replace")
        cut = f" … {len(line) - LINE_BYTES:,} bytes are not shown" if len(line) > LINE_BYTES else ""
        yield terminal_text(kept.translate(_PICTURES)) + cut


def newest_lines(path: Path, *, alive: bool) -> list[str]:
    """The last lines of the output of a process, without secrets; none if it has written nothing."""
    found = window(path, f"-{NEWEST_BYTES}", NEWEST_BYTES, alive=alive)
    return [] if found is None else [redacted_text(line) for line in shown_lines(found.data)]
