"""A Spark application that is started before its job is known.

Rules. (1) A process has at most one, as Spark allows one in a process. (2) A job takes it if its own application would
have the same settings; otherwise it is stopped, and the job starts its own. (3) The log becomes the job's by a rename,
so the JVM goes on writing to it. A job that has a log already starts its own application. (4) Workers enter the job's
working directory at each task (``worker_directory.py``), because they were started in another one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from seatunnel_py.spark.app import session
from seatunnel_py.spark.app.session import SparkApplication, SparkSettings
from seatunnel_py.spark.packs.worker_directory import DIRECTORY_VARIABLE

RESIDENTS = 8
"""Workers that may have a slot of their own: as many as one step of a job may want."""
_NO_EFFECT = frozenset({"app.name"})
_OWN = frozenset({"master"})
_FOUND: list[PreparedSpark] = []


class RehearsalSpark(SparkApplication):
    """The application during a rehearsal: it goes on afterwards."""

    def stop(self) -> None:
        """Does nothing: the job that comes later ends it."""


@dataclass(slots=True)
class PreparedSpark:
    """``place``: the directory with its log, its scratch files, and the link to the working directory; ``rehearses``:
    the next job is a rehearsal."""

    application: SparkApplication
    place: Path
    rehearses: bool = False

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """Run jobs on the application without ending it: everything is loaded, and compiled, for the real one."""
        self.rehearses = True
        try:
            yield
        finally:
            self.rehearses = False

    def fits(self, settings: SparkSettings) -> bool:
        """Whether the job's own application would be the same."""
        given = settings.given
        master = session.master_of(given) == session.master_of({})
        log = settings.place / "job.log"
        return (
            master
            and not settings.catalyst
            and not given.keys() - _OWN - _NO_EFFECT
            and settings.residents <= RESIDENTS
            and not log.exists()
        )

    def given_to(self, settings: SparkSettings) -> SparkApplication:
        """The application as the job's. Raises OSError if its log cannot be moved."""
        (self.place / "job.log").rename(settings.place / "job.log")
        return replace(self.application, residents=settings.residents)


def prepare(place: Path, cache: Path, preload: Sequence[str] = ()) -> PreparedSpark:
    """Start an application with the settings of a job that has none of its own. ``preload``: modules that workers will
    probably need. Raises EngineError."""
    os.environ[DIRECTORY_VARIABLE] = str(link_of(place))
    try:
        settings = SparkSettings("seatunnel", {}, place, cache, preload=tuple(preload), residents=RESIDENTS)
        prepared = PreparedSpark(session.start(settings), place)
    finally:
        del os.environ[DIRECTORY_VARIABLE]
    _FOUND[:] = [prepared]
    return prepared


def enter(place: Path, directory: Path) -> None:
    """Make this the working directory, also of the workers."""
    os.chdir(directory)
    half = link_of(place).with_suffix(".half")
    with suppress(FileNotFoundError):
        half.unlink()
    half.symlink_to(directory)
    half.replace(link_of(place))


def link_of(place: Path) -> Path:
    """The link to the working directory of workers."""
    return place / "directory"


def start(settings: SparkSettings) -> SparkApplication:
    """The application of a job: the prepared one if it fits, else a new one. Raises EngineError."""
    if _FOUND and _FOUND[0].rehearses:
        application = _FOUND[0].application
        return RehearsalSpark(application.context, application.jvm, application.slots, application.staying)
    prepared = _FOUND.pop() if _FOUND else None
    if prepared is not None:
        if prepared.fits(settings):
            with suppress(OSError):  # a disk that is full or gone: the new application will report it
                return prepared.given_to(settings)
        prepared.application.stop()
    return session.start(settings)
