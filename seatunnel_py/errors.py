"""Defines the root of every error that seatunnel-py raises on purpose; imports only the masking of secrets.

::

    SeaTunnelError               message + remedy, safe to print
    ├── JobFileError                the job file is wrong: every problem at once        exit code 2
    ├── PlanError                   the job is well-formed but cannot be run as asked   exit code 2
    │   ├── UnreachableError        … for now: a source or target is down               exit code 1
    │   └── TablesFailedError       … for its tables: none of them is left to run       exit code 1
    ├── PluginError                 a plugin reports a failure of the outside world
    │   ├── RetriableError          a retry of the same unit may succeed
    │   ├── GenerationLostError     the snapshot of the positions is gone: rows read under it are void
    │   └── FatalError              a retry cannot help: the table fails at once
    │       ├── BadRowsError        some rows are at fault, not the table: they may be quarantined
    │       ├── FencedError         a newer run of the job owns the target
    │       ├── ForeignLedgerError  the target remembers another run, or more than the job's store does
    │       └── CannotResumeError   the job's state is unusable: resuming would be refused again
    │           └── CommitLostError     pieces staged for a commit are gone, and the target does not have them
    └── EngineError                 the data plane itself failed (no Java, no Spark, lost workers)

A message names the thing and its fault; the remedy names the next step. Neither ever holds a secret. All are picklable:
workers send them to the driver unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from seatunnel_py.redaction import masked_text

COPY_AGAIN = "`seatunnel table reset JOB TABLE` copies the table again"
BEGIN_ANEW = "start again with --fresh: rows that are already visible may come twice, so empty the targets first"
"""The last resort, for every remedy without a better one."""


class ExitCode:
    """Exit codes of the command (design, section 8)."""

    SUCCESS = 0
    FAILED = 1
    JOB_FILE_WRONG = 2
    SOME_TABLES_FAILED = 3
    RUNS_ALREADY = 4
    INTERRUPTED = 130
    TERMINATED = 143


class SeaTunnelError(Exception):
    """Root of the tree. ``remedy`` is one sentence for the reader of the message, or empty. ``exit_code``: of a command
    that ends with this error."""

    exit_code = ExitCode.FAILED

    def __init__(self, message: str, remedy: str = "") -> None:
        self.message = masked_text(message)
        self.remedy = masked_text(remedy)
        super().__init__(self.message, self.remedy)

    def __str__(self) -> str:
        return f"{self.message}\n  remedy: {self.remedy}" if self.remedy else self.message


LINE_CHARACTERS_MAX = 300


def first_line(message: str) -> str:
    """Shorten a message for a list of messages: its first line, joined with the following lines if it ends in a colon,
    cut at LINE_CHARACTERS_MAX."""
    first, _, others = message.partition("\n")
    if first.endswith(":"):
        first = f"{first} {'; '.join(line.strip() for line in others.splitlines())}"
    return first[:LINE_CHARACTERS_MAX]


def worded(error: BaseException) -> str:
    """Format a foreign exception in one line: its text may be missing, or raise an error itself."""
    try:
        text = str(error)
    except Exception as second:  # noqa: BLE001 - a plugin's own code runs here
        text = f"(its text fails with {type(second).__name__})"
    return f"{type(error).__name__}: {text}".removesuffix(": ")


_NEAREST = re.compile(r"; did you mean '([^'\\]+)'\?$")
"""The end of a message of a part that knows no places, such as the reader of a type."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a job file.

    ``line`` and ``column`` count from 1; 0 means that the problem has no place of its own. ``path`` is the option's
    path as a user would write it, such as ``source[0].Jdbc.url``. ``suggestion`` is the nearest valid name, if one is
    near; a message that ends with it gives it up, so that each text shows it once.
    """

    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    path: str = ""
    remedy: str = ""
    suggestion: str = ""

    def __post_init__(self) -> None:
        message = masked_text(self.message)
        near = _NEAREST.search(message)
        if near is not None and self.suggestion in ("", near[1]):
            message = message[: near.start()]
            object.__setattr__(self, "suggestion", near[1])
        object.__setattr__(self, "message", message)
        object.__setattr__(self, "remedy", masked_text(self.remedy))

    @property
    def whole(self) -> str:
        """The message with the nearest name."""
        return f"{self.message}; did you mean {self.suggestion!r}?" if self.suggestion else self.message

    def __str__(self) -> str:
        place = self.file or "job file"
        if self.line:
            place += f":{self.line}:{self.column}"
        text = f"{place}: "
        if self.path:
            text += f"{self.path}: "
        text += self.whole
        if self.remedy:
            text += f"\n    remedy: {self.remedy}"
        return text


class JobFileError(SeaTunnelError):
    """A job file (or a ``-i`` argument) is wrong; carries every problem found, in file order."""

    exit_code = ExitCode.JOB_FILE_WRONG

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = tuple(sorted(problems, key=lambda p: (p.file, p.line, p.column)))
        super().__init__("\n".join(str(problem) for problem in self.problems))
        self.args = (self.problems,)


class PlanError(JobFileError):
    """The job file is valid, but its job cannot be planned (schemas, wiring, guarantees)."""


class UnreachableError(PlanError):
    """A source or target is unreachable, so the job could not be planned: the job file may be right. A
    scheduler may try again."""

    exit_code = ExitCode.FAILED


class TablesFailedError(PlanError):
    """Tables cannot be planned, and either none is left to run, or the job stops at its first failure. A
    scheduler may try again."""

    exit_code = ExitCode.FAILED


class ChangesRefusedError(SeaTunnelError):
    """The job file has changes that the user has not accepted; ``changes``: a text for each."""

    def __init__(self, message: str, remedy: str, changes: tuple[str, ...]) -> None:
        super().__init__(message, remedy)
        self.changes = changes
        self.args = (self.message, self.remedy, changes)


class PluginError(SeaTunnelError):
    """A plugin's report of a failure in the system that it talks to."""


class RetriableError(PluginError):
    """Retrying the same unit may help (a lost connection, a deadlock, a time-out)."""


class TimeLimitError(RetriableError):
    """The server ended a call that took too long: a retry may succeed (if a lock is gone), but is rarely worth it."""


class GenerationLostError(PluginError):
    """The snapshot for which splits and positions were valid is gone. Neither this unit nor any other of that
    generation can be retried, and rows read under it are not consistent with rows read later."""

    def __init__(self, message: str, remedy: str = "", generation: str = "") -> None:
        super().__init__(message, remedy)
        self.generation = generation
        self.args = (self.message, self.remedy, generation)


class FatalError(PluginError):
    """Retrying cannot help (no such table, a value that does not fit, no permission)."""


class BadRowsError(FatalError):
    """Some of the rows are at fault, not the table (a value that does not fit, a rule that is broken). If the job
    allows bad rows, the engine finds them and quarantines them. ``row``, if known, is the index of the first bad one
    from 0, in a transform's batch, or among all rows that a writer received: it saves the search.
    ``others``: further bad rows after it with their messages, if the writer went on and all rows between passed."""

    def __init__(
        self, message: str, remedy: str = "", row: int | None = None, others: Sequence[tuple[int, str]] = ()
    ) -> None:
        super().__init__(message, remedy)
        self.row = row
        self.others = tuple((at, masked_text(text)) for at, text in others)
        self.args = (self.message, self.remedy, row, self.others)

    def shifted(self, rows: int) -> BadRowsError:
        """Return the same error with its rows shifted by ``rows``."""
        if self.row is None:
            return self
        others = [(row + rows, message) for row, message in self.others]
        return BadRowsError(self.message, self.remedy, self.row + rows, others)


class CannotResumeError(FatalError):
    """The table cannot resume from its current state: `--restore latest` would be refused for the same reason. The
    remedy is a start from scratch."""


class CommitLostError(CannotResumeError):
    """The staged rows of a commit are gone, and the target does not have them: rows are lost. A committer raises it;
    the pipeline ends with an alarm, and no table is isolated."""


class FencedError(FatalError):
    """A newer run of the job owns the target's ledger: this run may not write any longer. A committer raises it; the
    pipeline ends and takes nothing back, for what is staged may be the newer run's by now."""


class ForeignLedgerError(FatalError):
    """The target's ledger belongs to another run of the job, or knows more than the job's store does. A committer
    raises it; the pipeline ends."""


class EngineError(SeaTunnelError):
    """The data plane failed: no Java, a Spark that does not start, workers that keep dying."""
