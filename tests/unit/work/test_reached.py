"""Units that follow an earlier attempt at their rows: they end where it ended, however batches are cut this time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from toys import Numbers, _NumbersReader, chain, table_of, unit

from seatunnel_py.api import (
    Batch,
    Element,
    Heartbeat,
    Piece,
    Plain,
    Position,
    Reached,
    Reader,
    Sink,
    SourceTable,
    Split,
    Transform,
    WriteContext,
    Writer,
)
from seatunnel_py.api.capabilities import Cardinality
from seatunnel_py.work.chain import Chain, ChainSink, ChainSource
from seatunnel_py.work.run import run_unit
from seatunnel_py.work.unit import Budget, UnitId, UnitResult


@dataclass(frozen=True)
class Marking(Sink):
    """Each unit is one file, with its numbers and how far it came: a target that remembers units."""

    directory: str

    def marks_units(self, setup: Mapping[str, Plain]) -> bool:
        return True

    def open(self, context: WriteContext) -> Writer:
        return _MarkingWriter(Path(self.directory) / context.data_id.replace("/", "_"))


class _MarkingWriter(Writer):
    def __init__(self, path: Path) -> None:
        self.path = path
        self.numbers: list[int] = []
        self.read = Reached(0)
        self.before: list[int] | None = None
        if path.exists():
            self.before, rows, end = json.loads(path.read_text())
            self.reached = Reached(rows, None if end is None else Position(end))

    def write(self, batch: Batch) -> None:
        self.numbers += batch.data.column("n").to_pylist()

    def ends_at(self, reached: Reached) -> None:
        self.read = reached

    def stage(self) -> Piece:
        if self.before is not None:
            assert self.numbers == self.before, "a unit that is there already was given other rows"
        end = None if self.read.end is None else dict(self.read.end.value)
        self.path.write_text(json.dumps([self.numbers, self.read.rows, end]))
        return Piece(len(self.numbers))

    def abort(self) -> None:
        return


class Odd(Transform):
    """Keeps odd numbers of the second half only, so that whole units give nothing."""

    def __init__(self, first: int) -> None:
        self.first = first

    def output(self) -> Any:
        return table_of("numbers").schema

    def apply(self, batch: Batch) -> Any:
        keep = [n >= self.first and n % 2 == 1 for n in batch.data.column("n").to_pylist()]
        yield replace(batch, data=batch.data.filter(pc.cast(keep, "bool")))


def life(directory: Path, first: int, *, epoch: int, batch: int, budget: int, stop: int = 99) -> list[UnitResult]:
    """One life of a vertex: its units, until the split has ended or ``stop`` are done."""
    source = Numbers(rows=100, batch=batch)
    made: Chain = chain(source, directory, Odd(first), cardinality=Cardinality.FILTER)
    made = replace(made, sinks=(ChainSink("lines", made.sinks[0].table, Marking(str(directory))),))
    results: list[UnitResult] = []
    start = None
    for number in count():
        one = replace(unit(source, rows=budget), id=UnitId("numbers", number, epoch), start=start)
        results.append(run_unit(one, made))
        assert results[-1].failure is None, results[-1].failure
        start = results[-1].next
        if results[-1].done or len(results) == stop:
            return results
    raise AssertionError("numbers do not end")


def held(directory: Path) -> list[int]:
    return sorted(n for path in directory.iterdir() for n in json.loads(path.read_text())[0])


@pytest.mark.parametrize("stop", [1, 2, 3, 5])
@pytest.mark.parametrize("first", [0, 45])
@pytest.mark.parametrize(("batch", "budget"), [(10, 10), (7, 40), (33, 33), (100, 1), (3, 5)])
def test_a_life_that_cuts_its_units_otherwise_adds_nothing_twice(
    tmp_path: Path, stop: int, first: int, batch: int, budget: int
) -> None:
    """Even where units before gave the sink nothing: where they ended is known all the same."""
    life(tmp_path, first, epoch=0, batch=10, budget=20, stop=stop)
    life(tmp_path, first, epoch=1, batch=batch, budget=budget)

    assert held(tmp_path) == [n for n in range(100) if n >= first and n % 2 == 1]


class Quiet(Numbers):
    """A log of which nothing can be heard for now."""

    def reader(self, table: SourceTable) -> Reader:
        return _QuietReader()


class _QuietReader(Reader):
    def read(self, split: Split, start: Position | None) -> Iterator[Element]:
        assert start is not None
        yield Heartbeat(start)


class Endless(Numbers):
    """A log that is never over, and says so whenever there is nothing."""

    def reader(self, table: SourceTable) -> Reader:
        return _EndlessReader(self)


class _EndlessReader(_NumbersReader):
    def read(self, split: Split, start: Position | None) -> Iterator[Element]:
        yield from super().read(split, start)
        while True:
            yield Heartbeat(Position({"n": 100}))


def test_who_has_heard_nothing_leaves_no_word_that_the_rows_were_done(tmp_path: Path) -> None:
    """A later life that is quiet at first reads on from there when rows come: it once took its own silence for them."""
    [before] = life(tmp_path, 0, epoch=0, batch=10, budget=20, stop=1)
    source = Quiet()
    quiet = chain(source, tmp_path)
    quiet = replace(quiet, sinks=(ChainSink("lines", quiet.sinks[0].table, Marking(str(tmp_path))),))
    budget = Budget(500_000, 0.0)
    now = replace(unit(source), id=UnitId("numbers", 1, 1), start=before.next, budget=budget)

    result = run_unit(now, quiet)

    assert (result.failure, result.next, result.pieces) == (None, before.next, ())
    life(tmp_path, 0, epoch=1, batch=10, budget=20)
    assert held(tmp_path) == [n for n in range(100) if n % 2 == 1]


def again(directory: Path, source: Numbers, *, until: int, rows: int, ordered: bool = True) -> UnitResult:
    """What an earlier life has read behind 20, read once more."""
    made = chain(source, directory)
    assert isinstance(made.head, ChainSource)
    made = replace(made, head=replace(made.head, ordered=ordered))
    here = replace(unit(source), start=Position({"n": 20}), budget=Budget(1 << 62, float("inf")))
    return run_unit(replace(here, until=Position({"n": until}), until_rows=rows), made)


@pytest.mark.parametrize("batch", [1, 5, 7, 15, 33, 100])
@pytest.mark.parametrize("source", [Numbers, Endless])
def test_a_reader_that_knows_nothing_of_until_is_stopped_there(
    tmp_path: Path, batch: int, source: type[Numbers]
) -> None:
    """A log has more in it by now, so no batch ends where one ended before: such a unit once went on for ever."""
    result = again(tmp_path, source(batch=batch), until=35, rows=15)

    assert (result.failure, result.next, result.rows) == (None, Position({"n": 35}), 15)


def test_what_comes_in_any_order_is_not_cut(tmp_path: Path) -> None:
    """Other rows could be on this side of the cut: the unit fails, and says whose mistake it is."""
    result = again(tmp_path, Numbers(batch=33), until=35, rows=15, ordered=False)

    assert result.failure is not None and "does not stop where it stopped before" in result.failure.message
    assert again(tmp_path, Numbers(batch=15), until=35, rows=15, ordered=False).failure is None
