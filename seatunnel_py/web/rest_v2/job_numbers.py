"""Numbers of runs: SeaTunnel's clients expect job ids of 63 bits.

Rules. (1) A run whose id is such a number has that number; any other one has the first 63 bits of the SHA-256 of its
id. So a number needs no database, and is the same after a restart. (2) If two runs would have the same number, the
second one that is seen gets another one, and a file keeps it. (3) Numbers are answered as texts: JavaScript loses
digits above 2^53.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Lock

from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.storage.job_directory import replace_file

NUMBER_MAX = 2**63 - 1


def number_of(run: str, turn: int = 0) -> int:
    """The number of a run id. ``turn``: counts further numbers of the same id."""
    if not turn and (own := own_number(run)):
        return own
    hashed = hashlib.sha256(f"{run}#{turn}".encode() if turn else run.encode()).digest()
    return int.from_bytes(hashed[:8]) & NUMBER_MAX or 1


def own_number(run: str) -> int:
    """The number that an id is; 0: it is none."""
    if not (run.isascii() and run.isdecimal()) or run.startswith("0") or len(run) > len(str(NUMBER_MAX)):
        return 0
    return int(run) if int(run) <= NUMBER_MAX else 0


class JobNumbers:
    """The numbers of all runs that ``runs`` lists. ``file``: keeps those that are not from the id alone."""

    def __init__(
        self, file: Path, runs: Callable[[], Iterable[str]], number: Callable[[str, int], int] = number_of
    ) -> None:
        self._file, self._runs, self._number = file, runs, number
        self._by_number: dict[int, str] = {}
        self._by_run: dict[str, int] = {}
        self._lock = Lock()
        self._kept = _kept(file)
        for run, taken in self._kept.items():
            self._note(run, taken)

    def of(self, run: str) -> int:
        """The number of a run."""
        with self._lock:
            return self._by_run.get(run) or self._add(run)

    def run(self, given: str) -> str:
        """The id of the run with this number. Any other text is returned as it is."""
        number = own_number(given)
        if not number:
            return given
        with self._lock:
            if number not in self._by_number:
                for run in self._runs():
                    if run not in self._by_run:
                        self._add(run)
            return self._by_number.get(number, given)

    def _add(self, run: str) -> int:
        turn = 0
        while (number := self._number(run, turn)) in self._by_number:
            turn += 1
        self._note(run, number)
        if turn:
            self._kept[run] = number
            replace_file(self._file, json.dumps(self._kept, sort_keys=True))
        return number

    def _note(self, run: str, number: int) -> None:
        self._by_run[run] = number
        self._by_number[number] = run


def _kept(file: Path) -> dict[str, int]:
    """The numbers in the file. Raises SeaTunnelError for a damaged one."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return {str(run): int(number) for run, number in found.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, AttributeError, TypeError) as error:
        raise SeaTunnelError(
            f"the numbers of jobs in {file} cannot be read: {error}", "restore that file from a backup, or remove it"
        ) from None
