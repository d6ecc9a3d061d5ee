"""The durable journal of a job: the input of each unit, before its outputs are sent (I39); splits that were found while
the job runs, before they are read (I41); and finished set-up units, for all drivers.

Rules. (1) Files are append only. Each line has a number, and a checksum over the file's name, the job's lineage, that
number and its content. An incomplete last line of a dead driver ends the file; any other damage is refused.
(2) Entries that arrive during a write go into the next write together. (3) A driver starts a new file with the valid
entries of the previous one, and marks them as complete; until then the older file is valid. So writes of an overtaken
driver have no effect. (4) Entries before the newest record are dropped, and a file that has grown is
rewritten: the journal of a stream holds the entries since its newest checkpoint, plus a few megabytes.
(5) It lists the durable records, before anything follows from them (``marks``): a store that lacks one of them has lost
it. (6) It lists records whose storing has failed, before anything restarts from an older one (``void_records``): they
may be in the store, and are no longer valid. (7) A driver starts a file before it writes a record: if that file is
missing, it is lost.
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
ROTATE_BYTES, GROWTH_MAX = 4 * 2**20, 4  # shorter files, also relative to their start, are not rewritten
APPENDS_MAX = 1_000  # in an object store each is an object
LOOKS_MAX = 10
_NAME = re.compile(r"\d+-\d+")
_COMPLETE = "complete"
_DECIDING = {"decision", "rule", "removed_rule"}


@dataclass(slots=True)
class Journal:
    """Content of a journal. ``taken``: entries by pipeline, subtask and number. ``found``: rounds of splits by
    pipeline, vertex and number. ``done``: set-up units by pipeline. ``dropped``: pipelines whose pieces were all
    deleted, and which start from nothing. ``graphs``: by pipeline the graph of ``taken``, which also names the batch
    numbers. ``numberings``: other names, for subtasks that have reused numbers for other rows. ``marks``: the newest
    record by pipeline. ``void_records``: records by pipeline that may be in the store, and are not restored.
    ``resets``: pipelines that copy a table again (``runtime/resume/table_reset.py``); ``emptied``: of these, the ones
    that copy already: their targets may be empty. ``decisions``: by pipeline and change, those of persons and rules
    (``runtime/control/change_decisions.py``). ``rules``: by id, those that decide about changes; ``removed_rules``:
    those that do not any more, with the removal."""

    taken: dict[tuple[str, Subtask], dict[int, TakenInput]] = field(default_factory=dict)
    found: dict[str, dict[str, dict[int, SplitRound]]] = field(default_factory=dict)
    done: dict[str, set[str]] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    graphs: dict[str, tuple[str, str]] = field(default_factory=dict)
    numberings: dict[tuple[str, Subtask], str] = field(default_factory=dict)
    marks: dict[str, int] = field(default_factory=dict)
    void_records: dict[str, set[int]] = field(default_factory=dict)
    resets: set[str] = field(default_factory=set)
    emptied: set[str] = field(default_factory=set)
    decisions: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    rules: dict[str, dict[str, Any]] = field(default_factory=dict)
    removed_rules: dict[str, dict[str, Any]] = field(default_factory=dict)

    def apply(self, line: Mapping[str, Any]) -> None:
        """Apply one line of any kind."""
        pipeline = line["p"]
        if voids(line):
            self.void_records.setdefault(pipeline, set()).update(line["void"])
            self.marks[pipeline] = min(line["newest"], self.marks.get(pipeline, 0))
            return
        if "record" in line:
            self.marks[pipeline] = line["record"]
            return
        if _DECIDING & line.keys():
            self._decide(pipeline, line)
            return
        if "reset" in line:
            (self.resets.add if line["reset"] else self.resets.discard)(pipeline)
            self.emptied &= self.resets
            return
        if "emptied" in line:
            self.emptied |= self.resets & {pipeline}
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
            self.emptied |= self.resets & {pipeline}  # earlier versions wrote no line before
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

    def _decide(self, pipeline: str, line: Mapping[str, Any]) -> None:
        if "decision" in line:
            self.decisions.setdefault(pipeline, {})[line["decision"]["change"]] = line["decision"]
        elif "rule" in line:
            self.rules[line["rule"]["id"]] = line["rule"]
        else:
            self.removed_rules[line["removed_rule"]["rule"]] = line["removed_rule"]

    def _void(self, pipeline: str) -> None:
        for of_subtasks in (self.taken, self.numberings):
            for key in [key for key in of_subtasks if key[0] == pipeline]:
                del of_subtasks[key]

    def taken_by(self, pipeline: str, subtask: Subtask) -> tuple[TakenInput, ...]:
        """Entries of this subtask, in order."""
        mine = self.taken.get((pipeline, subtask), {})
        return tuple(mine[number] for number in sorted(mine))

    def resumed(self, records: Mapping[str, CheckpointRecord]) -> dict[str, CheckpointRecord]:
        """The records to go on from, by pipeline, without those of pipelines that start from nothing."""
        return {pipeline: record for pipeline, record in records.items() if pipeline not in self.dropped}

    def is_void(self, pipeline: str, checkpoint: int) -> bool:
        """Return True for a record that may be in the store, and is not restored."""
        return checkpoint in self.void_records.get(pipeline, ())

    def forget(self, pipeline: str, record: CheckpointRecord) -> None:
        """Drop the entries that a durable record of this pipeline contains, and void records that are older."""
        void = self.void_records.get(pipeline, set())
        void -= {number for number in void if number < record.checkpoint}
        for subtask, snapshot in record.snapshots.items():
            mine = self.taken.get((pipeline, subtask), {})
            for number in [number for number in mine if number <= snapshot.taken]:
                del mine[number]

    def lines(self) -> Iterator[dict[str, Any]]:
        """Lines with the content of this journal."""
        for pipeline, units in self.done.items():  # first: after a reset, such a line means that the copy has begun
            yield from (done_line(pipeline, unit) for unit in sorted(units))
        for pipeline in sorted(self.dropped):
            yield dropped_line(pipeline)
        for pipeline in sorted(self.resets):
            yield reset_line(pipeline, begins=True)
        yield from map(emptied_line, sorted(self.emptied))
        for pipeline, decisions in self.decisions.items():
            yield from (decision_line(pipeline, one) for one in decisions.values())
        yield from map(rule_line, self.rules.values())
        yield from map(removed_rule_line, self.removed_rules.values())
        for pipeline, (graph, numbering) in self.graphs.items():
            yield graph_line(pipeline, graph, numbering)
        for pipeline, numbers in self.void_records.items():
            if numbers:
                yield void_line(pipeline, sorted(numbers), self.marks.get(pipeline, 0))
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
    """Line: this record of a pipeline is durable, and its newest one."""
    return {"p": pipeline, "record": checkpoint}


def void_line(pipeline: str, checkpoints: Iterable[int], newest: int) -> dict[str, Any]:
    """Line: these records may be in the store, and are void; ``newest``: the newest durable one."""
    return {"p": pipeline, "void": [*checkpoints], "newest": newest}


def voids(line: Mapping[str, Any]) -> bool:
    """Return True for a line that makes a record void."""
    return "void" in line


def needs_claim(line: Mapping[str, Any]) -> bool:
    """Return True for a line whose consequences a newer driver could not undo: its writer must still have the job."""
    return voids(line) or "emptied" in line


def dropped_line(pipeline: str) -> dict[str, Any]:
    """Line: all pieces of a pipeline were deleted, so its next run starts from nothing."""
    return {"p": pipeline, "dropped": True}


def reset_line(pipeline: str, *, begins: bool) -> dict[str, Any]:
    """Line: a pipeline copies its table again, or the table has joined its log again."""
    return {"p": pipeline, "reset": begins}


def emptied_line(pipeline: str) -> dict[str, Any]:
    """Line: the targets of a pipeline that copies its table again are emptied from now on."""
    return {"p": pipeline, "emptied": True}


def decision_line(pipeline: str, decision: dict[str, Any]) -> dict[str, Any]:
    """Line: a person or a rule has decided about a change of a table's schema."""
    return {"p": pipeline, "decision": decision}


def rule_line(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Line: a rule of all pipelines decides about changes of schemas."""
    return {"p": "", "rule": rule}


def removed_rule_line(removal: Mapping[str, Any]) -> dict[str, Any]:
    """Line: a rule decides no more; ``removal`` names the rule, the person and the time."""
    return {"p": "", "removed_rule": removal}


def graph_line(pipeline: str, graph: str, numbering: str) -> dict[str, Any]:
    """Line: later entries belong to another graph, and earlier ones are void."""
    return {"p": pipeline, "graph": graph, "numbering": numbering}


def done_line(pipeline: str, unit: str) -> dict[str, Any]:
    """Line: a set-up unit is done."""
    return {"p": pipeline, "done": unit}


def found_line(pipeline: str, vertex: str, number: int, found: SplitRound) -> dict[str, Any]:
    """Line: splits were found while the pipeline runs."""
    return {"p": pipeline, "v": vertex, "round": number, "found": splits_plain(found.splits), "state": found.state}


def taken_line(pipeline: str, subtask: Subtask, entry: TakenInput) -> dict[str, Any]:
    """Line: the input of a unit."""
    line: dict[str, Any] = {"p": pipeline, "s": [subtask.vertex, subtask.index], "n": entry.number}
    if entry.channel is not None:
        sender, receiver = entry.channel.sender, entry.channel.receiver
        ends = [[sender.vertex, sender.index], [receiver.vertex, receiver.index]]
        line |= {"c": [entry.channel.edge, *ends], "b": entry.batch}
    if entry.range is not None:
        line["r"] = entry.range
    return line


def kept_line(pipeline: str, subtask: Subtask, first: int, last: int, numbering: str) -> dict[str, Any]:
    """Line: of this subtask's entries only those from ``first`` to ``last`` are valid. The driver will reuse batch
    numbers for other rows: from here on the numbers have the name ``numbering``."""
    who = [subtask.vertex, subtask.index]
    return {"p": pipeline, "s": who, "from": first, "to": last, "numbering": numbering}


class JournalFile:
    """Reads the journals of earlier drivers, and writes this driver's files, one at a time. A file without its mark of
    completeness is ignored."""

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
        """Return True if most of the file may be obsolete."""
        return self._appends > APPENDS_MAX or self._bytes > max(ROTATE_BYTES, GROWTH_MAX * self._begun_with)

    def append(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Make these lines durable, in one write."""
        self._bytes += self._append(lines)

    def mark(self, records: Mapping[str, CheckpointRecord]) -> None:
        """Mark these records as durable, before anything follows from them."""
        numbers = {pipeline: record.checkpoint for pipeline, record in records.items()}
        self.append(record_line(pipeline, number) for pipeline, number in numbers.items())
        self._marks |= numbers

    def rewrite(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Replace the file by one with these lines and the marks of durable records."""
        marks = (record_line(pipeline, number) for pipeline, number in self._marks.items())
        self._generation += 1
        self._number = self._appends = 0
        self._begun_with = self._bytes = self._append((*lines, *marks, {_COMPLETE: True}))
        for older in self._storage.names(FOLDER):
            if older < self._name:
                self._storage.delete(f"{FOLDER}/{older}")

    def close(self) -> None:
        """Close the file."""
        self._storage.close()

    @property
    def _name(self) -> str:
        return f"{self._incarnation:08}-{self._generation:08}"

    def _append(self, lines: Iterable[Mapping[str, Any]]) -> int:
        """Append lines, and return their bytes. After a lost reply a line may be there twice, which has no effect."""
        encoded = [
            _encoded(self._name + self._lineage, number, line) for number, line in enumerate(lines, self._number + 1)
        ]
        if encoded:
            self._storage.append(f"{FOLDER}/{self._name}", b"".join(encoded))
            self._number += len(encoded)
            self._appends += 1
        return sum(map(len, encoded))


def _encoded(whose: str, number: int, line: Mapping[str, Any]) -> bytes:
    """Encode a line; ``whose``: the name of its file, and the lineage of the job."""
    body = b"%d %s" % (number, json.dumps(line, separators=(",", ":")).encode())
    return b"%08x %s\n" % (_checksum(whose, body), body)


def _checksum(whose: str, body: bytes) -> int:
    return crc32(body, crc32(whose.encode()))


def newest(storage: Storage, incarnation: int) -> tuple[int, Journal]:
    """Incarnation and journal of the last earlier driver with a complete file; 0: none. Raises StoreError for a damaged
    file."""
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
            # An incarnation without its first line looks like one of an old release.
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
            break  # else an overtaken driver has just rewritten its file
    return found


def _lines(whose: str, data: bytes) -> Iterator[dict[str, Any]]:
    """All complete lines, each once. Raises ValueError for one that is damaged, missing, of another file, or of another
    job."""
    *whole, torn = data.split(b"\n")
    seen: list[bytes] = []
    for at, line in enumerate(whole, 1):
        head, _, body = line.partition(b" ")
        number, _, text = body.partition(b" ")
        if head != b"%08x" % _checksum(whose, body) or not number.isdigit():
            raise ValueError(f"the checksum of line {at} is wrong")
        if int(number) <= len(seen) and seen[int(number) - 1] == line:
            continue  # a duplicate
        if int(number) != len(seen) + 1:
            raise ValueError(f"line {at} has the number {int(number)}, and should have {len(seen) + 1}")
        seen.append(line)
        yield json.loads(text)
    head, _, body = torn[:-1].partition(b" ")
    if head and head == b"%08x" % _checksum(whose, body):
        raise ValueError("its last line is complete, but lacks the end of a line")


def _old_lines(data: bytes) -> Iterator[dict[str, Any]]:
    """Lines up to the first incomplete or damaged one; later lines never had an effect."""
    for line in data.split(b"\n"):
        head, _, body = line.partition(b" ")
        if head != b"%08x" % crc32(body):
            return
        yield json.loads(body)
