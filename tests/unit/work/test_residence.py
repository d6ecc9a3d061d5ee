"""A resident source: its readers stay open between units, and only where that changes no row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from toys import Lines, Streams, table_of, written

from seatunnel_py.api import Batch, Element, Position, Reader, TablePath, TableStopped
from seatunnel_py.api.source import SourceTable, Split
from seatunnel_py.work import reader_cache
from seatunnel_py.work.chain import Chain, ChainChannel, ChainSink, ChainSource
from seatunnel_py.work.reader_cache import ReaderCache
from seatunnel_py.work.run import run_unit
from seatunnel_py.work.unit import Budget, Unit, UnitId, UnitResult

PATH = TablePath.parse("streams")


class Subtask:
    """One that runs unit after unit of its splits."""

    def __init__(self, place: Path, **source: object) -> None:
        self.log, self.out = place / "log", place / "out"
        self.residence = ReaderCache()
        self.source = Streams(str(self.log), **source)  # type: ignore[arg-type]
        self.sink = Lines(str(self.out))
        self.number = 0

    @property
    def chain(self) -> Chain:
        head = ChainSource("streams", self.source, table_of("streams"), resident=True)
        return Chain("streams", "job", "lineage", 1, head, sinks=(ChainSink("lines", PATH, self.sink),))

    def unit(self, start: Position | None, split: str = "a", rows: int = 20, **more: object) -> UnitResult:
        self.number += 1
        unit = Unit(UnitId("streams", self.number), Split(split, PATH), start, budget=Budget(rows, 60.0), **more)  # type: ignore[arg-type]
        return run_unit(unit, self.chain, self.residence)

    @property
    def told(self) -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line.rpartition(" ")[0] for line in lines]


def test_a_reader_goes_on_where_it_stands(tmp_path: Path) -> None:
    """Each split has one of its own, and nothing is read twice or left out."""
    subtask = Subtask(tmp_path)
    stand: dict[str, Position | None] = {"a": None, "b": None}
    for split in "abaabba":
        result = subtask.unit(stand[split], split)
        assert result.failure is None and result.rows == 20
        stand[split] = result.next

    assert subtask.told == ["open a 0", "open b 0"]
    assert written(subtask.out) == sorted([*range(80), *range(60)])
    subtask.residence.close()
    assert sorted(subtask.told[2:]) == ["close a 80", "close b 60"]


@pytest.mark.parametrize("start", [None, Position({"n": 20}), Position({"n": 60})])
def test_a_unit_that_begins_elsewhere_opens_its_split_anew(tmp_path: Path, start: Position | None) -> None:
    """A new life begins at its checkpoint."""
    subtask = Subtask(tmp_path)
    subtask.unit(subtask.unit(None).next)

    at = 0 if start is None else start.value["n"]
    assert subtask.unit(start).next == Position({"n": at + 20})  # type: ignore[operator]
    assert subtask.told == ["open a 0", "close a 40", f"open a {at}"]


def test_rows_that_are_read_again_up_to_a_place_are_read_by_a_new_reader(tmp_path: Path) -> None:
    """And it is not kept: where the earlier life stopped, it may have read on."""
    subtask = Subtask(tmp_path)
    first = subtask.unit(None)
    again = subtask.unit(first.next, until=Position({"n": 30}))

    assert again.next == Position({"n": 30}) and again.rows == 10
    assert subtask.told == ["open a 0", "close a 20", "open a 20", "close a 30"]


def test_nothing_of_a_unit_that_failed_stays_open(tmp_path: Path) -> None:
    """In its source or in its sink; what it was to read is read by the next attempt."""
    subtask = Subtask(tmp_path, act="retriable", at=30)
    first = subtask.unit(None)
    assert subtask.unit(first.next).failure is not None
    assert subtask.told[-1] == "close a 30"
    assert subtask.unit(first.next).next == Position({"n": 40})

    lying, honest = replace(subtask.sink, lies=1), subtask.sink
    subtask.sink = lying
    assert subtask.unit(Position({"n": 40})).failure is not None
    subtask.sink = honest
    assert subtask.unit(Position({"n": 40})).next == Position({"n": 60})
    assert subtask.told[-2:] == ["close a 60", "open a 40"]


def test_so_many_readers_are_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose split has waited longest gives way."""
    monkeypatch.setattr(reader_cache, "OPEN_MAX", 2)
    subtask = Subtask(tmp_path)
    for split in "abca":
        subtask.unit(None, split)

    assert subtask.told == ["open a 0", "open b 0", "open c 0", "close a 20", "open a 0", "close b 20"]


class _StopsReader(Reader):
    """Rows of two tables, with the stop of the first one between them."""

    def read(self, split: Split, start: Position | None) -> Iterator[Element]:
        at = int(str(start.value["n"])) if start else 0
        gone = TableStopped(PATH, "it was dropped", "copy it again")
        elements: list[Callable[[Position], Element]] = [
            lambda end: rows_of(PATH, 1, end),
            lambda end: rows_of(OTHER, 2, end),
            lambda end: replace(gone, end=end),
            lambda end: rows_of(OTHER, 3, end),
        ]
        for number, element in enumerate(elements[at:], at + 1):
            yield element(Position({"n": number}))


OTHER = TablePath.parse("other")


def rows_of(table: TablePath, number: int, end: Position) -> Batch:
    return Batch(table, pa.RecordBatch.from_pydict({"n": pa.array([number], pa.int64())}), end=end)


class Stops(Streams):
    """A log whose first table stops."""

    def reader(self, table: SourceTable) -> Reader:
        return _StopsReader()


def test_rows_before_a_stop_of_their_table_are_a_unit_of_their_own(tmp_path: Path) -> None:
    """A sink takes what one unit has made as a whole, and fails at the stop: it would lose the rows before it."""
    tables = (table_of("streams"), table_of("other"))
    head = ChainSource("log", Stops(str(tmp_path / "log")), tables[0], resident=True, log_tables=tables)
    chain = Chain("log", "job", "lineage", 1, head, output=ChainChannel("c", (tmp_path / "exchange").as_uri()))
    residence, start, made = ReaderCache(), None, []
    for number in (1, 2):
        unit = Unit(UnitId("log", number), Split("a", PATH), start, budget=Budget(20, 60.0))
        result = run_unit(unit, chain, residence)
        assert result.failure is None, result.failure
        made.append([(str(one.table), one.stopped is not None) for one in result.slices])
        start = result.next
    assert made == [[("streams", False), ("other", False)], [("other", False), ("streams", True)]]

    again = Unit(UnitId("log", 3), Split("a", PATH), None, budget=Budget(20, 60.0), until=Position({"n": 4}))
    whole = run_unit(again, chain, residence)
    assert [(str(one.table), one.stopped is not None) for one in whole.slices] == [
        ("streams", False),
        ("other", False),
        ("other", False),
        ("streams", True),
    ], "a unit of an earlier release is repeated as it was"
