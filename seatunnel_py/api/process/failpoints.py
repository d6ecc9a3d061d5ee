"""Failpoints: named moments at which a test lets a process die, fail or wait.

A module declares its moments when it is imported, and hits them where they are::

    BEFORE = failpoint("postgres.commit.before", "Nothing of the commit has reached the target.")
    ...
    BEFORE.hit()

Rules. (1) A name is ``recipe.act.moment``, as in ``files.commit.after``. (2) A point that is not armed costs a look
into the environment: hit it once a unit, batch or commit, never once a row. (3) Hits are counted in a directory, over
all processes and drivers of a job, so that an armed point acts once, whoever reaches it.

``SEATUNNEL_FAILPOINT = "worker.stage.after:kill@2"`` (several: with commas) arms it for its second hit, ``@2-4`` for
three of them, ``@2-`` for all from there on. ``SEATUNNEL_FAILPOINT_DIR`` is the directory; workers inherit both. *kill*
is ``kill -9`` of the own process, *error* a RetriableError, and *pause* waits until the file ``NAME.go`` is there (or
the parent process is gone): in the meantime a test kills somebody else. Whoever acts leaves its process id in
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
    """What an armed point does to the process that hits it."""

    KILL = "kill"
    ERROR = "error"
    PAUSE = "pause"


@dataclass(frozen=True, slots=True)
class Failpoint:
    """A moment that has a name. ``meaning`` says what has happened by then, and what has not."""

    name: str
    meaning: str

    @property
    def recipe(self) -> str:
        return self.name.partition(".")[0]

    def hit(self) -> None:
        """The moment is now."""
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
    """Declare a moment, once, at the top of its module. Two moments cannot have one name."""
    point = Failpoint(name, meaning)
    if _declared.setdefault(name, point) != point:
        raise ValueError(f"the failpoint {name} is declared twice")
    return point


def declared() -> Mapping[str, Failpoint]:
    """Every failpoint of the modules that are imported, by name."""
    return dict(_declared)


@contextmanager
def watched() -> Iterator[list[str]]:
    """The names of the points that this process passes meanwhile, in their order."""
    seen: list[str] = []
    _watching.append(seen)
    try:
        yield seen
    finally:
        _watching.remove(seen)


def parsed(spec: str) -> tuple[str, Action, range]:
    """``name:action@hits`` in its parts; without ``@hits`` it is the first."""
    name, _, rest = spec.strip().partition(":")
    action, _, hits = rest.partition("@")
    first, several, last = (hits or "1").partition("-")
    return name, Action(action), range(int(first), int(last or sys.maxsize if several else first) + 1)


def environment() -> dict[str, str]:
    """What processes elsewhere need to have the same points armed."""
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
    """Whoever creates the file of a number has that number."""
    for number in count(1):
        try:
            os.close(os.open(directory / f"{name}.{number}", os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            continue
        return number
    raise AssertionError("numbers do not end")
