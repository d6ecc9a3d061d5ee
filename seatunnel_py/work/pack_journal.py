"""Writes the journal of a pack: each result right after its unit, to be read if the worker dies.

One file per pack, append only. A line is ``length crc32 json``: a reader stops at the first line that contradicts its
own head, so a tail torn by a killed process is ignored. There is no fsync: a journal covers killed processes; the
checkpoint covers a machine that dies.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seatunnel_py.api.plain_data import plain_data
from seatunnel_py.work.unit import UnitId, UnitResult, result_from_plain

_HEAD = "{:08x} {:08x} "
_HEAD_LENGTH = 18


class PackJournalWriter:
    """Appends to one journal. Each entry is one ``write``: a kill leaves at most one torn line.

    The journal must not exist yet (FileExistsError): an existing one means a second worker with the same pack.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)

    def started(self, unit: UnitId) -> None:
        """Record that the unit is about to run: if nothing follows, it is the one that killed the process."""
        self._append({"started": plain_data(unit)})

    def finished(self, result: UnitResult) -> None:
        self._append({"result": result.to_plain()})

    def close(self) -> None:
        os.close(self._file)

    def _append(self, entry: Mapping[str, Any]) -> None:
        body = json.dumps(entry, separators=(",", ":")).encode()
        line = _HEAD.format(len(body), zlib.crc32(body)).encode() + body + b"\n"
        while line:  # a full disk or a signal may accept only a part
            line = line[os.write(self._file, line) :]


@dataclass(frozen=True, slots=True)
class PackJournal:
    """Content of a journal: the started units, in order, and the results of those that ended."""

    started: tuple[UnitId, ...] = ()
    results: tuple[UnitResult, ...] = ()


def read_journal(path: Path) -> PackJournal:
    """Read all complete entries; a missing journal is empty."""
    started: list[UnitId] = []
    results: list[UnitResult] = []
    for entry in _entries(path):
        if "started" in entry:
            started.append(UnitId(**entry["started"]))
        else:
            results.append(result_from_plain(entry["result"]))
    return PackJournal(tuple(started), tuple(results))


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    for line in data.split(b"\n"):
        head, body = line[:_HEAD_LENGTH], line[_HEAD_LENGTH:]
        if head != _HEAD.format(len(body), zlib.crc32(body)).encode():
            return
        yield json.loads(body)
