"""The durable journal of a job: what each unit took, before what it made is shown (I39), which splits were found while
the job runs, before anybody reads of them (I41), and which set-up units are done, once for all drivers.

Rules. (1) Files are append only. Each line has a number, and a checksum over the file's name, the job's lineage, that
number and itself.
A line that its driver had not written to its end when it died ends the file; anything else that is wrong is refused.
(2) Entries that are asked for while the disk is busy go to it together. (3) A driver begins a file with what still
counts of the one before, and says when that is complete; until then the older file is the one that counts. So an
overtaken driver can write what it likes. (4) What the newest record holds is forgotten, and a file that has grown is
begun anew: the journal of a stream is as long as what lies behind its newest checkpoint, give or take a few megabytes.
(5) It says which records are durable, before anything follows from them (``marks``): a store that shows less of a
pipeline has lost something. (6) A driver begins a file before it writes a record: records without that file are a
loss.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from seatunnel_py.api.storage import Storage
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import TakenInput
from seatunnel_py.runtime.storage.checkpoint_store import WAYS_ON, StoreError
from seatunnel_py.runtime.storage.checksum_seal import bond_of
from seatunnel_py.runtime.values.split_progress import SplitRound, splits_of, splits_plain

FOLDER = "journal"
ROTATE_BYTES, GROWTH_MAX = 4 * 2**20, 4  # a file shorter than both, or than so many times what it began with, is left
APPENDS_MAX = 1_000  # in an object store each is an object
LOOKS_MAX = 10
_NAME = re.compile(r"\d+-\d+")
_COMPLETE = "complete"


@dataclass(slots=True)
class Journal:
    """``taken``: by pipeline and subtask, entries by number; ``found``: rounds of splits by pipeline and vertex, each
    by its number; ``done``: set-up units by pipeline; ``dropped``: pipelines whose staged rows were all taken back,
    which begin anew; ``graphs``: by pipeline the graph that ``taken`` is of, and what the numbers of its batches are
    called; ``numberings``: what they are called where a subtask gives them to other rows since; ``marks``: by pipeline
    its newest record."""

    taken: dict[tuple[str, Subtask], dict[int, TakenInput]] = field(default_factory=dict)
    found: dict[str, dict[str, dict[int, SplitRound]]] = field(default_factory=dict)
    done: dict[str, set[str]] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    graphs: dict[str, tuple[str, str]] = field(default_factory=dict)
    numberings: dict[tuple[str, Subtask], str] = field(default_factory=dict)
    marks: dict[str, int] = field(default_factory=dict)

    def apply(self, line: Mapping[str, Any]) -> None:
        """One line: an entry, the voiding of entries, a set-up unit that is done, or that everything was taken back."""
        pipeline = line["p"]
        if "record" in line:
            self.marks[pipeline] = line["record"]
            return
        if "dropped" in line:
            self.dropped.add(pipeline)
            self.done.pop(pipeline, None)
            self.found.pop(pipeline, None)
            self._void(pipeline)
            return
        if "graph" in line:
            self.graphs[pipeline] = line["graph"], line["numbering"]
            self._void(pipeline)
            return
        if "done" in line:
            self.done.setdefault(pipeline, set()).add(line["done"])
            self.dropped.discard(pipeline)
            return
        if "found" in line:
            rounds = self.found.setdefault(pipeline, {}).setdefault(line["v"], {})
            rounds[line["round"]] = SplitRound(splits_of(line["found"]), line["state"])
            return
        subtask = Subtask(*line["s"])
        mine = self.taken.setdefault((pipeline, subtask), {})
        if "n" in line:
            channel = line.get("c")
            edge = None if channel is None else Channel(channel[0], Subtask(*channel[1]), Subtask(*channel[2]))
            mine[line["n"]] = TakenInput(line["n"], edge, line.get("b", 0), line.get("r"))
            return
        self.numberings[pipeline, subtask] = line["numbering"]
        for number in [number for number in mine if not line["from"] <= number <= line["to"]]:
            del mine[number]

    def _void(self, pipeline: str) -> None:
        for of_subtasks in (self.taken, self.numberings):
            for key in [key for key in of_subtasks if key[0] == pipeline]:
                del of_subtasks[key]

    def taken_by(self, pipeline: str, subtask: Subtask) -> tuple[TakenInput, ...]:
        """Its entries, in order."""
        mine = self.taken.get((pipeline, subtask), {})
        return tuple(mine[number] for number in sorted(mine))

    def forget(self, pipeline: str, record: CheckpointRecord) -> None:
        """A record of this pipeline is durable: what it holds nobody will ask the journal for."""
        for subtask, snapshot in record.snapshots.items():
            mine = self.taken.get((pipeline, subtask), {})
            for number in [number for number in mine if number <= snapshot.taken]:
                del mine[number]

    def lines(self) -> Iterator[dict[str, Any]]:
        """Lines that make this journal."""
        for pipeline in sorted(self.dropped):
            yield dropped_line(pipeline)
        for pipeline, (graph, numbering) in self.graphs.items():
            yield graph_line(pipeline, graph, numbering)
        for pipeline, units in self.done.items():
            for unit in sorted(units):
                yield done_line(pipeline, unit)
        for pipeline, vertices in self.found.items():
            for vertex, rounds in vertices.items():
                for number in sorted(rounds):
                    yield found_line(pipeline, vertex, number, rounds[number])
        for (pipeline, subtask), numbering in self.numberings.items():
            yield kept_line(pipeline, subtask, 1, 0, numbering)
        for (pipeline, subtask), mine in self.taken.items():
            for number in sorted(mine):
                yield taken_line(pipeline, subtask, mine[number])


def record_line(pipeline: str, checkpoint: int) -> dict[str, Any]:
    """This record of a pipeline is durable, and its newest one."""
    return {"p": pipeline, "record": checkpoint}


def dropped_line(pipeline: str) -> dict[str, Any]:
    """What a pipeline had staged was taken back: its next run begins anew."""
    return {"p": pipeline, "dropped": True}


def graph_line(pipeline: str, graph: str, numbering: str) -> dict[str, Any]:
    """From here on what units take is told of another graph: what was taken before is void."""
    return {"p": pipeline, "graph": graph, "numbering": numbering}


def done_line(pipeline: str, unit: str) -> dict[str, Any]:
    """A set-up unit is done."""
    return {"p": pipeline, "done": unit}


def found_line(pipeline: str, vertex: str, number: int, found: SplitRound) -> dict[str, Any]:
    """Splits that were found while the pipeline runs."""
    return {"p": pipeline, "v": vertex, "round": number, "found": splits_plain(found.splits), "state": found.state}


def taken_line(pipeline: str, subtask: Subtask, entry: TakenInput) -> dict[str, Any]:
    """What a unit took."""
    line: dict[str, Any] = {"p": pipeline, "s": [subtask.vertex, subtask.index], "n": entry.number}
    if entry.channel is not None:
        sender, receiver = entry.channel.sender, entry.channel.receiver
        ends = [[sender.vertex, sender.index], [receiver.vertex, receiver.index]]
        line |= {"c": [entry.channel.edge, *ends], "b": entry.batch}
    if entry.range is not None:
        line["r"] = entry.range
    return line


def kept_line(pipeline: str, subtask: Subtask, first: int, last: int, numbering: str) -> dict[str, Any]:
    """Of this subtask's entries only those from ``first`` to ``last`` count. It will give the numbers of its batches to
    other rows than before: from here on they are called ``numbering``."""
    who = [subtask.vertex, subtask.index]
    return {"p": pipeline, "s": who, "from": first, "to": last, "numbering": numbering}


class JournalFile:
    """Reads what earlier drivers left, and writes this driver's files. One at a time is written; what is not complete
    when its driver dies was never begun."""

    def __init__(self, storage: Storage, incarnation: int) -> None:
        self.journal = newest(storage, incarnation)[1]
        self._storage = storage
        self._incarnation = incarnation
        self._lineage = bond_of(storage, incarnation).lineage
        self._generation = 0
        self._number = self._appends = self._bytes = self._begun_with = 0
        self._marks = dict(self.journal.marks)
        self.rewrite(self.journal.lines())

    @property
    def is_long(self) -> bool:
        """Whether most of it may be what nobody needs any longer."""
        return self._appends > APPENDS_MAX or self._bytes > max(ROTATE_BYTES, GROWTH_MAX * self._begun_with)

    def append(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Make these lines durable, in one go."""
        self._bytes += self._append(lines)

    def mark(self, records: Mapping[str, CheckpointRecord]) -> None:
        """These records are durable, by pipeline; nothing has followed from them."""
        numbers = {pipeline: record.checkpoint for pipeline, record in records.items()}
        self.append(record_line(pipeline, number) for pipeline, number in numbers.items())
        self._marks |= numbers

    def rewrite(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """These lines, and what is durable, take the place of all that was written."""
        marks = (record_line(pipeline, number) for pipeline, number in self._marks.items())
        self._generation += 1
        self._number = self._appends = 0
        self._begun_with = self._bytes = self._append((*lines, *marks, {_COMPLETE: True}))
        for older in self._storage.names(FOLDER):
            if older < self._name:
                self._storage.delete(f"{FOLDER}/{older}")

    def close(self) -> None:
        """Nothing more will be written."""
        self._storage.close()

    @property
    def _name(self) -> str:
        return f"{self._incarnation:08}-{self._generation:08}"

    def _append(self, lines: Iterable[Mapping[str, Any]]) -> int:
        """How many bytes they take. What arrived although nobody heard so may stand there twice, which says the
        same."""
        encoded = [
            _encoded(self._name + self._lineage, number, line) for number, line in enumerate(lines, self._number + 1)
        ]
        if encoded:
            self._storage.append(f"{FOLDER}/{self._name}", b"".join(encoded))
            self._number += len(encoded)
            self._appends += 1
        return sum(map(len, encoded))


def _encoded(whose: str, number: int, line: Mapping[str, Any]) -> bytes:
    """``whose``: the name of its file, and the lineage of the job."""
    body = b"%d %s" % (number, json.dumps(line, separators=(",", ":")).encode())
    return b"%08x %s\n" % (_checksum(whose, body), body)


def _checksum(whose: str, body: bytes) -> int:
    return crc32(body, crc32(whose.encode()))


def newest(storage: Storage, incarnation: int) -> tuple[int, Journal]:
    """What the last driver before this one has left that had begun its file, and its number; 0: none had. Raises
    StoreError where that file is damaged."""
    for name, data in _before(storage, incarnation):
        number = int(name.split("-")[0])
        bond = bond_of(storage, number)
        old = bond.old and data[9:10] == b"{"  # its lines have no numbers
        try:
            lines = list(_old_lines(data) if old else _lines(name + bond.lineage, data))
            if not any(_COMPLETE in line for line in lines):
                continue
            journal = Journal()
            for line in lines:
                if _COMPLETE not in line:
                    journal.apply(line)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            where = storage.describe(f"{FOLDER}/{name}")
            # An incarnation that has lost its first line looks like one of an old release.
            other = f", or {storage.describe(f'incarnations/{number:08}')} is damaged" if bond.old and not old else ""
            raise StoreError(f"{where} is damaged: {error}{other}", WAYS_ON) from error
        return number, journal
    return 0, Journal()


def _before(storage: Storage, incarnation: int) -> list[tuple[str, bytes]]:
    """The files of older drivers, the newest first."""
    for _ in range(LOOKS_MAX):
        names = [name for name in storage.names(FOLDER) if _NAME.fullmatch(name)]
        older = sorted((name for name in names if int(name.split("-")[0]) < incarnation), reverse=True)
        found = [(name, data) for name in older if (data := storage.get(f"{FOLDER}/{name}")) is not None]
        if len(found) == len(older):
            break  # else a driver that is overtaken has just begun a file anew
    return found


def _lines(whose: str, data: bytes) -> Iterator[dict[str, Any]]:
    """All whole lines, each once. Raises ValueError where one is damaged, missing, of another file, or of another
    job."""
    *whole, torn = data.split(b"\n")
    seen: list[bytes] = []
    for at, line in enumerate(whole, 1):
        head, _, body = line.partition(b" ")
        number, _, text = body.partition(b" ")
        if head != b"%08x" % _checksum(whose, body) or not number.isdigit():
            raise ValueError(f"the checksum of line {at} is wrong")
        if int(number) <= len(seen) and seen[int(number) - 1] == line:
            continue  # it arrived twice
        if int(number) != len(seen) + 1:
            raise ValueError(f"line {at} has the number {int(number)}, and should have {len(seen) + 1}")
        seen.append(line)
        yield json.loads(text)
    head, _, body = torn[:-1].partition(b" ")
    if head and head == b"%08x" % _checksum(whose, body):
        raise ValueError("its last line is whole, and does not end as one")


def _old_lines(data: bytes) -> Iterator[dict[str, Any]]:
    """Up to the first that is torn or damaged; behind it nothing was ever acted upon, unless the storage forgets."""
    for line in data.split(b"\n"):
        head, _, body = line.partition(b" ")
        if head != b"%08x" % crc32(body):
            return
        yield json.loads(body)
