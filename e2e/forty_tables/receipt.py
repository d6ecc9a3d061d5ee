"""A receipt's text, taken apart: every line is one of those that are known here, or the reading fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

HEADINGS = ("table", "into", "read", "written", "filtered", "rejected", "bytes", "time", "before")
STATES = ("done", "isolated", "kept")


@dataclass(slots=True)
class Line:
    """A row of the table. Texts of cells that were broken over lines are without blanks."""

    table: str = ""
    into: str = ""
    read: str = ""
    written: str = ""
    filtered: str = ""
    rejected: str = ""
    bytes: str = ""
    time: str = ""
    before: str = ""
    state: str = ""


@dataclass(slots=True)
class Receipt:
    """``causes``: a table's cause and remedy. ``left_out``: reason and names. ``lacking``: kinds of definitions."""

    state: str = ""
    job_name: str = ""
    job_id: str = ""
    lines: dict[str, Line] = field(default_factory=dict)
    total: Line = field(default_factory=Line)
    rate: str = ""
    moved: str = ""
    causes: dict[str, tuple[str, str]] = field(default_factory=dict)
    left_out: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    converted: tuple[int, int, int] = (0, 0, 0)
    lacking: tuple[int, dict[str, int]] = (0, {})
    directory: str = ""
    goes_on: str = ""
    earlier: tuple[str, ...] = ()
    kept: int = 0


_HEAD = re.compile(r"(success|some tables failed|failed)  (.+)  (\S+)")
_LEFT_OUT = re.compile(r"note: \S+ leaves out (\d+) \((.+?)(?:; (kinds = \S+) reads them)?\): (.+)")
_CONVERTED = re.compile(
    r"note: (\d+) columns? of (\d+) tables? arrives? in another form, (\d+) of them after a test of each value: "
    r"`seatunnel plan` names them"
)
_LACKING = re.compile(r"note: not carried over from (\d+) tables?: (.+); `--json` and receipt\.json name each")
_THIS_RUN = re.compile(r"this run read ([\d,]+) of these ([\d,]+) rows, the runs before it ([\d,]+)")
_RATE = re.compile(r"rows moved for (.+?) of (.+?), at ([\d,]+ rows/s)")
_KEPT = re.compile(r"(\d+) tables? (?:was|were) done before this run, and kept")


def parsed(text: str, names: set[str]) -> Receipt:
    """``names`` are the tables that may be spoken of. AssertionError names a line that nobody knows."""
    lines = text.splitlines()
    head = _HEAD.fullmatch(lines[0])
    assert head, lines[0]
    receipt = Receipt(head[1], head[2], head[3])
    rule = next(at for at, line in enumerate(lines) if set(line.strip()) == {"─"})
    end = next(at for at, line in enumerate(lines) if at > rule + 1 and re.match(r" \d+ tables? ", line))
    assert [line.strip() for line in (lines[1], lines[end - 1], lines[end + 1])] == ["", "", ""], text
    _table(receipt, lines[rule - 1], lines[rule + 1 : end - 1], lines[end], names)
    told = sorted(names, key=len, reverse=True)
    waiting: list[str] = []  # tables whose remedy is still to come
    for line in lines[end + 2 :]:
        if line.startswith("    remedy: ") and waiting:
            for table in waiting:
                receipt.causes[table] = receipt.causes[table][0], line.removeprefix("    remedy: ")
            waiting = []
        elif table := next((name for name in told if line.startswith(f"{name}: ")), ""):
            assert table not in receipt.causes, f"told twice: {line}"
            receipt.causes[table] = line.removeprefix(f"{table}: "), ""
            waiting.append(table)
        else:
            waiting = []
            _sentence(receipt, line)
    return receipt


def _sentence(receipt: Receipt, line: str) -> None:
    if found := _LEFT_OUT.fullmatch(line):
        why = f"{found[2]}; {found[3]}" if found[3] else found[2]
        receipt.left_out[why] = int(found[1]), found[4].split(", ")
    elif found := _CONVERTED.fullmatch(line):
        receipt.converted = int(found[1]), int(found[2]), int(found[3])
    elif found := _LACKING.fullmatch(line):
        kinds = dict(part.split(" ", 1)[::-1] for part in found[2].split(", "))
        receipt.lacking = int(found[1]), {kind: int(number) for kind, number in kinds.items()}
    elif found := _THIS_RUN.fullmatch(line):
        receipt.earlier = found.groups()
    elif found := _RATE.fullmatch(line):
        receipt.moved, _, receipt.rate = found.groups()
    elif found := _KEPT.fullmatch(line):
        receipt.kept = int(found[1])
    elif line.startswith("log and receipt: ") and not receipt.directory:
        receipt.directory = line.removeprefix("log and receipt: ")
    elif line.startswith("go on with it: ") and not receipt.goes_on:
        receipt.goes_on = line.removeprefix("go on with it: ")
    else:
        raise AssertionError(f"a sentence that nobody knows: {line!r}")


def _table(receipt: Receipt, header: str, body: list[str], footer: str, names: set[str]) -> None:
    assert tuple(header.split()) == HEADINGS, header
    bare = {"".join(name.split()): name for name in names}
    for line in _rows(header, body):
        line.table = bare["".join(line.table.split())]
        assert line.table not in receipt.lines, f"twice: {line.table}"
        assert line.state in STATES, line
        receipt.lines[line.table] = line
    (receipt.total,) = _rows(header, [footer])


def _rows(header: str, body: list[str]) -> Iterator[Line]:
    """Texts begin where their headings begin, numbers end where theirs end; the last column has no heading."""
    ends = {name: header.index(f" {name} ") + 1 + len(name) for name in HEADINGS}
    into, before = header.index(" into ") + 1, header.index(" before ") + 1
    current: Line | None = None
    for text in body:
        cells = {"table": text[:into].strip()}
        cells["into"], _, cells["read"] = text[into : ends["read"]].rstrip().rpartition("  ")
        if not re.fullmatch(r"[\d,]+", cells["read"].strip()):  # a text without a number behind it
            cells["into"], cells["read"] = text[into : ends["read"]], ""
        for left, right in pairwise(HEADINGS[2:-1]):
            cells[right] = text[ends[left] : ends[right]]
        cells["before"], _, cells["state"] = text[before:].rstrip().rpartition("   ")
        cells = {name: cell.strip() for name, cell in cells.items()}
        if not cells["read"]:  # a text that was broken
            assert current is not None and not any(cells[name] for name in HEADINGS[2:-1]), text
            rest = cells["before"] or cells["state"]  # nothing stands behind it
            current.table, current.into = current.table + cells["table"], current.into + cells["into"]
            current.before += rest
            continue
        if current is not None:
            yield current
        current = Line(**cells)
    if current is not None:
        yield current
