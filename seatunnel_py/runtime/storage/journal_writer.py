"""The driver's lines of the journal on their way to the disk.

Rules. (1) Lines that come while the disk is busy go to it together. (2) A call that waits for its line is made on the
loop, behind the line. (3) A line that cannot be written is never called back: the loop is told, with what the owners of
all such lines want to do if it turns out that another driver has the job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.storage.journal import JournalFile
from seatunnel_py.runtime.values import failpoints

Line = Mapping[str, Any]
Records = Mapping[str, CheckpointRecord]
Write = Callable[[Callable[[], Any], Callable[[BaseException | None], None]], None]
"""Does something on the store's own thread; the answer comes on the loop."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    lines: tuple[Line, ...]
    then: Callable[[], None]
    overtaken: Callable[[], None]


class JournalBatcher:
    """``failed`` hears an error, and what to call where the job is another driver's."""

    def __init__(
        self,
        file: JournalFile,
        write: Write,
        failed: Callable[[BaseException, Iterable[Callable[[], None]]], None],
    ) -> None:
        self._file = file
        self._write = write
        self._failed = failed
        self._waiting: list[_Waiting] = []
        self.busy = False

    def log(self, lines: Iterable[Line], then: Callable[[], None], overtaken: Callable[[], None]) -> None:
        """Make these durable, then call."""
        new = tuple(lines)
        if not new:
            then()
            return
        self._waiting.append(_Waiting(new, then, overtaken))
        self._log()

    def give_up(self) -> None:
        """The journal is another driver's: what waits is tried, and fails the same way."""
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
        """Lines that take the place of a file that has grown; None: it stays."""
        return list(self._file.journal.lines()) if self._file.is_long else None

    def mark(self, store: Callable[[Records], None], records: Records) -> Callable[[], None]:
        """What stores these records, and then says in the journal that they are durable; to be called on the store's
        own thread."""
        anew = None if self.busy else self._anew()

        def stored() -> None:
            store(records)
            if anew is not None:
                self._file.rewrite(anew)
            self._file.mark(records)

        return stored

    def _append(self, lines: Iterable[Line], anew: Iterable[Line] | None) -> None:
        if anew is not None:
            self._file.rewrite(anew)
        failpoints.BEFORE_JOURNAL.hit()
        self._file.append(lines)
        failpoints.JOURNALLED.hit()
