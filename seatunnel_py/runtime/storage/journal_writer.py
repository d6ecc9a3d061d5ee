"""Queues the driver's journal lines and writes them in batches.

Rules. (1) Lines that arrive during a write go into the next write together. (2) The callback of a line runs on the
loop, after the line is durable. (3) For a line that cannot be written the callback never runs: the loop gets the error,
and the calls for the case that another driver has taken the job over. (4) Pieces that a void record names will be
deleted, and so will the rows of a table that is copied again. A line about them counts only if this driver has the job
after the line is durable: a later driver reads the journal after it has taken the job over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.storage.journal import JournalFile, needs_claim
from seatunnel_py.runtime.values import failpoints

Line = Mapping[str, Any]
Records = Mapping[str, CheckpointRecord]
Write = Callable[[Callable[[], Any], Callable[[BaseException | None], None]], None]
"""Runs a call on the store's thread, and a callback with its error on the loop."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    lines: tuple[Line, ...]
    then: Callable[[], None]
    overtaken: Callable[[], None]


class JournalBatcher:
    """Batches journal lines. ``check`` raises an error if another driver has the job; ``failed`` gets an error, and the
    call for that case."""

    def __init__(
        self,
        file: JournalFile,
        write: Write,
        check: Callable[[], None],
        failed: Callable[[BaseException, Iterable[Callable[[], None]]], None],
    ) -> None:
        self._file = file
        self._write = write
        self._check = check
        self._failed = failed
        self._waiting: list[_Waiting] = []
        self.busy = False

    def log(self, lines: Iterable[Line], then: Callable[[], None], overtaken: Callable[[], None]) -> None:
        """Make these lines durable, then call ``then``."""
        new = tuple(lines)
        if not new:
            then()
            return
        self._waiting.append(_Waiting(new, then, overtaken))
        self._log()

    def give_up(self) -> None:
        """Another driver owns the journal: waiting lines are tried, and fail in the same way."""
        self.busy = False
        self._log()

    def _log(self) -> None:
        if self.busy or not self._waiting:
            return
        self.busy = True
        writing, self._waiting = self._waiting, []
        lines = [line for one in writing for line in one.lines]
        journal, anew = self._file.journal, self._anew()

        def logged(error: BaseException | None) -> None:
            if error is not None:
                self._failed(error, [one.overtaken for one in writing])
                return
            self.busy = False
            for line in lines:
                journal.apply(line)
            for one in writing:
                one.then()
            self._log()

        self._write(lambda: self._append(lines, anew), logged)

    def _anew(self) -> list[Line] | None:
        """Lines that replace a file that has grown; None: keep the file."""
        return list(self._file.journal.lines()) if self._file.is_long else None

    def mark(self, store: Callable[[Records], None], records: Records) -> Callable[[], None]:
        """Return a call for the store's thread that stores these records, and then marks them in the journal."""
        anew = None if self.busy else self._anew()

        def stored() -> None:
            store(records)
            if anew is not None:
                self._file.rewrite(anew)
            self._file.mark(records)

        return stored

    def _append(self, lines: Sequence[Line], anew: Iterable[Line] | None) -> None:
        if anew is not None:
            self._file.rewrite(anew)
        failpoints.BEFORE_JOURNAL.hit()
        self._file.append(lines)
        if any(map(needs_claim, lines)):
            self._check()
        failpoints.JOURNALLED.hit()
