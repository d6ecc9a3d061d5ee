"""The root of every error that seatunnel-py raises on purpose; imports nothing of ours but what masks secrets.

::

    SeaTunnelError               message + remedy, safe to print
    ├── JobFileError             the job file is wrong: every problem at once        exit code 2
    ├── PlanError                the job is well-formed but cannot be run as asked   exit code 2
    │   ├── UnreachableError     … for now: a source or target is away               exit code 1
    │   └── TablesFailedError    … for its tables: none of them is left to run       exit code 1
    ├── PluginError              a plugin reports a failure of the outside world
    │   ├── RetriableError       the same unit may work if it is tried again
    │   ├── GenerationLost       what positions were valid for is gone: what was read under it is void
    │   └── FatalError           trying again cannot help: the table fails at once
    │       ├── BadRows          some rows are at fault, not the table: they may be set aside
    │       └── NoWayOn          what is known of the job is no use: going on would be refused again
    └── EngineError              the data plane itself failed (no Java, no Spark, lost workers)

A message says what happened to which thing; the remedy says what to do. Neither ever holds a secret.
All are picklable: they travel from workers to the driver as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seatunnel_py.redaction import masked_text

BEGIN_ANEW = "begin anew with --fresh: rows that are visible already may come twice, so empty the targets first"
"""The last way on, of every remedy that knows no other."""


class ExitCode:
    """What the shell sees (design, section 8)."""

    SUCCESS = 0
    FAILED = 1
    JOB_FILE_WRONG = 2
    SOME_TABLES_FAILED = 3
    INTERRUPTED = 130
    TERMINATED = 143


class SeaTunnelError(Exception):
    """Root of the tree. ``remedy`` is one sentence for the person who reads the message, or empty."""

    def __init__(self, message: str, remedy: str = "") -> None:
        self.message = masked_text(message)
        self.remedy = masked_text(remedy)
        super().__init__(self.message, self.remedy)

    def __str__(self) -> str:
        return f"{self.message}\n  remedy: {self.remedy}" if self.remedy else self.message


LINE_CHARACTERS_MAX = 300


def first_line(message: str) -> str:
    """What has room where many messages stand: the first line of one, with what it announces where it ends in a colon,
    and not all of it where that is very long."""
    first, _, others = message.partition("\n")
    if first.endswith(":"):
        first = f"{first} {'; '.join(line.strip() for line in others.splitlines())}"
    return first[:LINE_CHARACTERS_MAX]


def worded(error: BaseException) -> str:
    """An exception of somebody else's in a line: its text may be missing, or fail itself."""
    try:
        text = str(error)
    except Exception as second:  # noqa: BLE001 - a plugin's own code runs here
        text = f"(its text fails with {type(second).__name__})"
    return f"{type(error).__name__}: {text}".removesuffix(": ")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a job file.

    ``line`` and ``column`` count from 1; 0 means that the problem has no place of its own.
    ``path`` is the option's path as a person would write it, such as ``source[0].Jdbc.url``.
    ``suggestion`` is the nearest valid name, where one is near.
    """

    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    path: str = ""
    remedy: str = ""
    suggestion: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", masked_text(self.message))
        object.__setattr__(self, "remedy", masked_text(self.remedy))

    def __str__(self) -> str:
        place = self.file or "job file"
        if self.line:
            place += f":{self.line}:{self.column}"
        text = f"{place}: "
        if self.path:
            text += f"{self.path}: "
        text += self.message
        if self.suggestion:
            text += f"; did you mean {self.suggestion!r}?"
        if self.remedy:
            text += f"\n    remedy: {self.remedy}"
        return text


class JobFileError(SeaTunnelError):
    """A job file (or what was given with ``-i``) is wrong; carries every problem found, in file order."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = tuple(sorted(problems, key=lambda p: (p.file, p.line, p.column)))
        super().__init__("\n".join(str(problem) for problem in self.problems))
        self.args = (self.problems,)


class PlanError(JobFileError):
    """The job file reads well, but what it asks for cannot be planned (schemas, wiring, guarantees)."""


class UnreachableError(PlanError):
    """The job could not be planned for what it reads or writes is away: the job file may be right. Exit code 1."""


class TablesFailedError(PlanError):
    """Tables cannot be planned, and none is left to run, or the job ends with its first failure. Exit code 1."""


class PluginError(SeaTunnelError):
    """A plugin's report of a failure in the system that it talks to."""


class RetriableError(PluginError):
    """Trying the same unit again may help (a lost connection, a deadlock, a time-out)."""


class TimeLimitError(RetriableError):
    """The server ended a call that took too long: it may go better (a lock that is gone), but not often worth a try."""


class GenerationLost(PluginError):
    """What splits and positions were valid for (an exported snapshot) is gone: neither the same unit nor any other of
    that generation can work again, and what was read under it is not of one moment with what is read later."""

    def __init__(self, message: str, remedy: str = "", generation: str = "") -> None:
        super().__init__(message, remedy)
        self.generation = generation
        self.args = (self.message, self.remedy, generation)


class FatalError(PluginError):
    """Trying again cannot help (no such table, a value that does not fit, no permission)."""


class BadRows(FatalError):
    """Some of the rows are at fault and not the table (a value that does not fit, a rule that is broken): where the job
    allows bad rows, the engine finds them and sets them aside. ``row``, where it is known, is the number of the first
    bad one from 0, in a transform's batch, or among all rows that a writer was given: it saves the search.
    ``others``: bad rows behind it and their messages, where the writer went on and all rows between have passed."""

    def __init__(
        self, message: str, remedy: str = "", row: int | None = None, others: Sequence[tuple[int, str]] = ()
    ) -> None:
        super().__init__(message, remedy)
        self.row = row
        self.others = tuple((at, masked_text(text)) for at, text in others)
        self.args = (self.message, self.remedy, row, self.others)

    def shifted(self, rows: int) -> BadRows:
        """The same of rows that have ``rows`` others before them."""
        if self.row is None:
            return self
        others = [(row + rows, message) for row, message in self.others]
        return BadRows(self.message, self.remedy, self.row + rows, others)


class NoWayOn(FatalError):
    """The table cannot go on from where it stands: `--restore latest` would be refused for the same reason. The remedy
    says how it begins anew."""


class EngineError(SeaTunnelError):
    """The data plane failed: no Java, a Spark that does not start, workers that keep dying."""
