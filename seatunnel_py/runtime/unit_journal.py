"""The durable journal of a job: what each unit took, before what it made is shown (I39), which splits were found while
the job runs, before anybody reads of them (I41), and which set-up units are done, once for all drivers.

Rules. (1) One file per incarnation, append only, a checksum per line: a torn tail ends the file. (2) Entries that are
asked for while the disk is busy go to it together. (3) A driver begins its own file with what still counts of the one
before, and says when that is complete; until then the older file is the one that counts. So an overtaken driver can
write what it likes, and the journal does not grow from driver to driver.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

from seatunnel_py.protocol.ids import Channel, Subtask
from seatunnel_py.protocol.items import Taken
from seatunnel_py.runtime.reading import Round, splits_of, splits_plain

_COMPLETE = "complete"


@dataclass(slots=True)
class Journal:
    """``taken``: by pipeline and subtask, entries by number; ``found``: rounds of splits by pipeline and vertex, each
    by its number; ``done``: set-up units by pipeline; ``dropped``: pipelines whose staged rows were all taken back,
    which begin anew."""

    taken: dict[tuple[str, Subtask], dict[int, Taken]] = field(default_factory=dict)
    found: dict[str, dict[str, dict[int, Round]]] = field(default_factory=dict)
    done: dict[str, set[str]] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)

    def apply(self, line: Mapping[str, Any]) -> None:
        """One line: an entry, the voiding of entries, a set-up unit that is done, or that everything was taken back."""
        pipeline = line["p"]
        if "dropped" in line:
            self.dropped.add(pipeline)
            self.done.pop(pipeline, None)
            self.found.pop(pipeline, None)
            for key in [key for key in self.taken if key[0] == pipeline]:
                del self.taken[key]
            return
        if "done" in line:
            self.done.setdefault(pipeline, set()).add(line["done"])
            self.dropped.discard(pipeline)
            return
        if "found" in line:
            rounds = self.found.setdefault(pipeline, {}).setdefault(line["v"], {})
            rounds[line["round"]] = Round(splits_of(line["found"]), line["state"])
            return
        mine = self.taken.setdefault((pipeline, Subtask(*line["s"])), {})
        if "n" in line:
            channel = line.get("c")
            edge = None if channel is None else Channel(channel[0], Subtask(*channel[1]), Subtask(*channel[2]))
            mine[line["n"]] = Taken(line["n"], edge, line.get("b", 0), line.get("r"))
            return
        for number in [number for number in mine if not line["from"] <= number <= line["to"]]:
            del mine[number]

    def lines(self) -> Iterator[dict[str, Any]]:
        """Lines that make this journal."""
        for pipeline in sorted(self.dropped):
            yield dropped_line(pipeline)
        for pipeline, units in self.done.items():
            for unit in sorted(units):
                yield done_line(pipeline, unit)
        for pipeline, vertices in self.found.items():
            for vertex, rounds in vertices.items():
                for number in sorted(rounds):
                    yield found_line(pipeline, vertex, number, rounds[number])
        for (pipeline, subtask), mine in self.taken.items():
            for number in sorted(mine):
                yield taken_line(pipeline, subtask, mine[number])


def dropped_line(pipeline: str) -> dict[str, Any]:
    """What a pipeline had staged was taken back: its next run begins anew."""
    return {"p": pipeline, "dropped": True}


def done_line(pipeline: str, unit: str) -> dict[str, Any]:
    """A set-up unit is done."""
    return {"p": pipeline, "done": unit}


def found_line(pipeline: str, vertex: str, number: int, found: Round) -> dict[str, Any]:
    """Splits that were found while the pipeline runs."""
    return {"p": pipeline, "v": vertex, "round": number, "found": splits_plain(found.splits), "state": found.state}


def taken_line(pipeline: str, subtask: Subtask, entry: Taken) -> dict[str, Any]:
    """What a unit took."""
    line: dict[str, Any] = {"p": pipeline, "s": [subtask.vertex, subtask.index], "n": entry.number}
    if entry.channel is not None:
        sender, receiver = entry.channel.sender, entry.channel.receiver
        ends = [[sender.vertex, sender.index], [receiver.vertex, receiver.index]]
        line |= {"c": [entry.channel.edge, *ends], "b": entry.batch}
    if entry.range is not None:
        line["r"] = entry.range
    return line


def kept_line(pipeline: str, subtask: Subtask, first: int, last: int) -> dict[str, Any]:
    """Of this subtask's entries only those from ``first`` to ``last`` count."""
    return {"p": pipeline, "s": [subtask.vertex, subtask.index], "from": first, "to": last}


class JournalFile:
    """Reads what earlier drivers left, and writes this driver's file."""

    def __init__(self, directory: Path, incarnation: int) -> None:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.journal = _newest(directory, incarnation)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW
        self._file = os.open(directory / f"{incarnation:08}", flags, 0o600)
        self.append([*self.journal.lines(), {_COMPLETE: True}])
        for older in directory.iterdir():
            if older.name < f"{incarnation:08}":
                older.unlink(missing_ok=True)

    def append(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Make these lines durable, in one go. Raises OSError."""
        data = b"".join(_encoded(line) for line in lines)
        while data:
            data = data[os.write(self._file, data) :]
        os.fdatasync(self._file)

    def close(self) -> None:
        os.close(self._file)


def _encoded(line: Mapping[str, Any]) -> bytes:
    body = json.dumps(line, separators=(",", ":")).encode()
    return b"%08x %s\n" % (crc32(body), body)


def _newest(directory: Path, incarnation: int) -> Journal:
    """The journal of the last driver that had begun its file."""
    for file in sorted(directory.iterdir(), reverse=True):
        if int(file.name) >= incarnation:
            continue
        journal, complete = Journal(), False
        for line in _lines(file):
            if _COMPLETE in line:
                complete = True
            else:
                journal.apply(line)
        if complete:
            return journal
    return Journal()


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    for raw in file.read_bytes().split(b"\n"):
        check, _, body = raw.partition(b" ")
        if len(check) != 8 or f"{crc32(body):08x}".encode() != check:
            return
        yield json.loads(body)
