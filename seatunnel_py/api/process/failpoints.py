"""Failpoints: named places in the code at which a test can kill a process, make it fail or make it wait.

A module declares its failpoints at import, and hits them in its code::

    BEFORE = failpoint("postgres.commit.before", "Nothing of the commit has reached the target.")
    ...
    BEFORE.hit()

Rules. (1) A name is ``recipe.act.moment``, as in ``files.commit.after``. (2) An unarmed failpoint costs one lookup in
the environment: hit it once per unit, batch or commit, never per row. (3) Hits are counted in a directory, over all
processes and drivers of a job, so that an armed failpoint acts once, in whichever process.

``SEATUNNEL_FAILPOINT = "worker.stage.after:kill@2"`` (several: with commas) arms it for its second hit, ``@2-4`` for
three hits, ``@2-`` for all from the second. ``SEATUNNEL_FAILPOINT_DIR`` is the directory; workers inherit both. *kill*
sends ``kill -9`` to its own process, *error* raises a RetriableError, and *pause* waits until the file ``NAME.go``
exists or the parent process has died: meanwhile a test can kill another process. The acting process writes its id to
``NAME.acted``.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from pathlib import Path

from seatunnel_py.errors import RetriableError

VARIABLE = "SEATUNNEL_FAILPOINT"
DIRECTORY_VARIABLE = "SEATUNNEL_FAILPOINT_DIR"
_LOOK_SECONDS = 0.01


class Action(StrEnum):
    """Action of an armed failpoint on the process that hits it."""

    KILL = "kill"
    ERROR = "error"
    PAUSE = "pause"


@dataclass(frozen=True, slots=True)
class Failpoint:
    """A named place in the code. ``meaning`` describes what has happened by then, and what has not."""

    name: str
    meaning: str

    @property
    def recipe(self) -> str:
        return self.name.partition(".")[0]

    def hit(self) -> None:
        """Act now if the failpoint is armed for this hit."""
        for seen in _watching:
            seen.append(self.name)
        armed = os.environ.get(VARIABLE)
        if armed and self.name in armed:
            for spec in armed.split(","):
                name, action, hits = parsed(spec)
                if name == self.name:
                    _hit(name, action, hits)


_declared: dict[str, Failpoint] = {}
_watching: list[list[str]] = []


def failpoint(name: str, meaning: str) -> Failpoint:
    """Declare a failpoint, once, at the top of its module. Names must be unique."""
    point = Failpoint(name, meaning)
    if _declared.setdefault(name, point) != point:
        raise ValueError(f"the failpoint {name} is declared twice")
    return point


def declared() -> Mapping[str, Failpoint]:
    """Failpoints of all imported modules, by name."""
    return dict(_declared)


@contextmanager
def watched() -> Iterator[list[str]]:
    """Collect, in order, the names of the failpoints that this process passes in the block."""
    seen: list[str] = []
    _watching.append(seen)
    try:
        yield seen
    finally:
        _watching.remove(seen)


def parsed(spec: str) -> tuple[str, Action, range]:
    """Parse ``name:action@hits``; without ``@hits`` it is the first hit."""
    name, _, rest = spec.strip().partition(":")
    action, _, hits = rest.partition("@")
    first, several, last = (hits or "1").partition("-")
    return name, Action(action), range(int(first), int(last or sys.maxsize if several else first) + 1)


def environment() -> dict[str, str]:
    """Environment variables that arm the same failpoints in other processes."""
    return {name: os.environ[name] for name in (VARIABLE, DIRECTORY_VARIABLE) if name in os.environ}


def _hit(name: str, action: Action, hits: range) -> None:
    directory = Path(os.environ[DIRECTORY_VARIABLE])
    if _number_of_this_hit(directory, name) not in hits:
        return
    draft = directory / f".{name}.{os.getpid()}.{threading.get_ident()}"
    draft.write_text(str(os.getpid()))
    draft.rename(directory / f"{name}.acted")
    match action:
        case Action.KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        case Action.ERROR:
            raise RetriableError(f"failpoint {name}", "unset SEATUNNEL_FAILPOINT: it is for tests")
        case Action.PAUSE:
            parent = os.getppid()
            while not (directory / f"{name}.go").exists() and os.getppid() == parent:
                time.sleep(_LOOK_SECONDS)


def _number_of_this_hit(directory: Path, name: str) -> int:
    """Number this hit: the process that creates the file of a number gets that number."""
    for number in count(1):
        try:
            os.close(os.open(directory / f"{name}.{number}", os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            continue
        return number
    raise AssertionError("unreachable: numbers are unlimited")
