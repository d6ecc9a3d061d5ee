"""What a plugin gives a unit of another kind or shape fails the unit: no row is lost, and none reaches a sink wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from seatunnel_example import Countdown, CountdownReader, Double, Lines

from seatunnel_py.api import (
    Batch,
    Heartbeat,
    Piece,
    Position,
    Reader,
    ReaderEvent,
    Rejected,
    Skipped,
    SourceTable,
    Split,
    WriteContext,
    Writer,
)
from seatunnel_py.work.chain import Chain, ChainSink, ChainSource, ChainTransform
from seatunnel_py.work.run import run_unit
from seatunnel_py.work.unit import Unit, UnitId, UnitResult


@dataclass(frozen=True)
class Changed(Countdown):
    """Yields what ``change`` makes of each batch."""

    change: Callable[[Batch], Any] = lambda batch: batch

    def reader(self, table: SourceTable) -> Reader:
        return ChangedReader(self)


class ChangedReader(CountdownReader):
    def read(self, split: Split, start: Position | None) -> Iterator[Any]:
        assert isinstance(self._source, Changed)
        yield from map(self._source.change, super().read(split, start))


@dataclass(frozen=True)
class ChangedDouble(Double):
    change: Callable[[Batch], Any] = lambda batch: batch

    def apply(self, batch: Batch) -> Iterable[Any]:
        return [self.change(batch)]


def ran(
    folder: Path,
    source: Countdown,
    sink: Lines | None = None,
    step: type[Double] = ChangedDouble,
    **transform: Callable[[Batch], Any],
) -> UnitResult:
    table = source.tables()[0]
    path = table.schema.path
    double = step("n", table.schema, **transform) if transform or step is not ChangedDouble else None
    transforms = (ChainTransform("double", path, double),) if double is not None else ()
    sink = sink or Lines(str(folder))
    chain = Chain("v", "job", "l", 1, ChainSource("in", source, table), transforms, (ChainSink("out", path, sink),))
    return run_unit(Unit(UnitId("v", 1), Split("all", path)), chain)


def typed(batch: Batch) -> Batch:
    return replace(batch, data=batch.data.set_column(0, "n", batch.data.column(0).cast(pa.int32())))


WRONG: dict[str, tuple[Callable[[Batch], Any], str]] = {
    "nothing": (lambda batch: None, "gives None where a Batch belongs"),
    "bare rows": (lambda batch: batch.data, "gives a RecordBatch where a Batch belongs"),
    "a table": (lambda batch: replace(batch, data=pa.table(batch.data)), "data are a Table, not a RecordBatch"),
    "another name": (lambda batch: replace(batch, data=batch.data.rename_columns(["m"])), "m int64 instead of n int64"),
    "another type": (typed, "n int32 instead of n int64"),
    "one more": (
        lambda batch: replace(batch, data=batch.data.append_column("m", batch.data.column(0))),
        "m int64 instead of no column",
    ),
    "kinds": (lambda batch: replace(batch, kinds=pa.array([0], pa.uint8())), "3 rows, but 1 kinds"),
    "reasons": (lambda batch: Rejected(batch.table, batch.data, ("one",)), "3 rows of countdown with 1 reasons"),
    "a date": (lambda batch: replace(batch, end=Position({"at": [date.min]})), "can hold: a date at ['at'][0]"),
    "an end": (lambda batch: replace(batch, end={"left": 0}), "gives a dict as the end"),  # type: ignore[arg-type]
}


READ_WRONG = {
    **WRONG,
    "less than none": (lambda batch: Skipped(batch.table, -1), "skips -1 records of countdown"),
}


@pytest.mark.parametrize(("change", "said"), READ_WRONG.values(), ids=READ_WRONG)
def test_what_no_reader_may_yield_fails_the_unit(tmp_path: Path, change: Callable[[Batch], Any], said: str) -> None:
    """It names method, class and cause; nothing was written."""
    failure = ran(tmp_path, Changed(3, 3, change)).failure

    assert failure is not None
    assert (failure.step, said in failure.message) == ("in", True), failure.message
    assert failure.message.startswith("read of Changed ")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (ReaderEvent({"seen": {1}}), "reports data that no checkpoint can hold: a set at ['seen']"),
        (Heartbeat(None), "gives a Heartbeat without a position"),  # type: ignore[arg-type]
    ],
)
def test_a_word_of_a_reader_that_nobody_can_keep_fails_the_unit(tmp_path: Path, item: Any, said: str) -> None:
    """The worker could not tell its result, and was taken for lost; what it had written came again and again."""
    failure = ran(tmp_path, Changed(3, 3, lambda batch: item)).failure

    assert failure is not None
    assert said in failure.message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("change", "said"), WRONG.values(), ids=WRONG)
def test_what_no_transform_may_return_fails_the_unit(tmp_path: Path, change: Callable[[Batch], Any], said: str) -> None:
    """The step at fault is the transform, not the sink behind it."""
    failure = ran(tmp_path, Countdown(3, 3), change=change).failure

    assert failure is not None
    assert (failure.step, said in failure.message) == ("double", True), failure.message
    assert not list(tmp_path.iterdir())


class Unwordable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    "error", [Unwordable(), SystemExit(7), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()]
)
def test_whatever_is_raised_is_the_units_result(tmp_path: Path, error: BaseException) -> None:
    """Also what has no text, and what is meant to end a process."""

    def raising(batch: Batch) -> Batch:
        raise error

    failure = ran(tmp_path, Countdown(3, 3), change=raising).failure

    assert failure is not None
    assert failure.step == "double"
    assert failure.message.startswith(f"ChangedDouble.apply failed: {type(error).__name__}"), failure.message
    assert "(test_given.py:" in failure.message


class Forgetful(Countdown):
    def reader(self, table: SourceTable) -> Reader:
        reader = CountdownReader(self)
        reader.read = lambda split, start: None  # type: ignore[method-assign,assignment,return-value]
        return reader


@dataclass(frozen=True)
class Silent(Double):
    def apply(self, batch: Batch) -> Any:
        return None


def test_a_yield_that_was_forgotten_is_named(tmp_path: Path) -> None:
    """`TypeError: 'NoneType' object is not iterable` names neither method nor plugin."""
    read = ran(tmp_path, Forgetful(3, 3)).failure
    applied = ran(tmp_path, Countdown(3, 3), step=Silent).failure

    assert read is not None and "read of CountdownReader returns None where Batches belong" in read.message
    assert applied is not None and "apply of Silent returns None where Batches belong" in applied.message


@dataclass(frozen=True)
class Odd(Lines):
    """``answer`` is what its writer returns from ``stage``; without one there is no writer."""

    answer: Any = None

    def open(self, context: WriteContext) -> Writer:
        return OddWriter(self.answer) if self.answer else None  # type: ignore[return-value]


class OddWriter(Writer):
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def write(self, batch: Batch) -> None:
        return

    def stage(self) -> Piece:
        return self.answer  # type: ignore[no-any-return]

    def abort(self) -> None:
        raise SystemExit("not even this can be relied on")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "open of Odd returns None instead of a Writer"),
        (3, "stage of OddWriter returns a int instead of a Piece"),
        (
            Piece(3, data={"file": {"a"}}),
            "stage of OddWriter returns a Piece with data that no checkpoint can hold: a set",
        ),
        (Piece("3"), "returns a Piece whose rows are a str instead of a number"),  # type: ignore[arg-type]
        (Piece(2), "was given 3 rows of countdown, but confirmed 2"),
    ],
)
def test_a_sink_that_answers_otherwise_fails_the_unit(tmp_path: Path, answer: Any, said: str) -> None:
    """Before, a unit without a result was tried for ever."""
    failure = ran(tmp_path, Countdown(3, 3), Odd(str(tmp_path), answer)).failure

    assert failure is not None
    assert said in failure.message


@dataclass(frozen=True)
class Stuck(Countdown):
    """Its positions are ``ends``; what it is told to begin at is ignored."""

    ends: tuple[int | None, ...] = ()
    word: bool = False

    def reader(self, table: SourceTable) -> Reader:
        return StuckReader(self)


class StuckReader(CountdownReader):
    def read(self, split: Split, start: Position | None) -> Iterator[Any]:
        assert isinstance(self._source, Stuck)
        for batch, end in zip(super().read(split, None), self._source.ends, strict=True):
            position = None if end is None else Position({"left": end})
            if self._source.word and position is not None:
                yield from (replace(batch, end=None), Heartbeat(position), Heartbeat(position))
            else:
                yield replace(batch, end=position)


@pytest.mark.parametrize(
    ("ends", "start", "word", "said"),
    [
        ((5, 5), None, False, 'gives rows (1) and stands where it was before: {"left": 5}'),
        ((5, 4, 5), None, False, 'gives rows (1) and stands where it was before: {"left": 5}'),
        ((5, None, 5), None, False, 'gives rows (2) and stands where it was before: {"left": 5}'),
        ((5, 5), None, True, 'gives rows (1) and stands where it was before: {"left": 5}'),
        ((4, 3), 3, False, 'gives rows (1) and stands where it began: {"left": 3}'),
        ((2, 1, 0), None, False, ""),
        ((None, None, 0), None, False, ""),
        ((2, 1), None, True, ""),
    ],
)
def test_a_position_that_comes_again_behind_rows_is_an_error_of_the_source(
    tmp_path: Path, ends: tuple[int | None, ...], start: int | None, word: bool, said: str
) -> None:
    """P2-F1, P2-F10: the next unit read the same rows, under the same name, and the sink was blamed for it."""
    source = Stuck(len(ends), 1, ends, word)
    table = source.tables()[0]
    path = table.schema.path
    sink = ChainSink("out", path, Lines(str(tmp_path)))
    chain = Chain("v", "job", "l", 1, ChainSource("in", source, table), (), (sink,))
    begin = None if start is None else Position({"left": start})

    failure = run_unit(Unit(UnitId("v", 1), Split("all", path), begin), chain).failure

    assert (failure is not None) == bool(said), failure
    if failure is not None:
        assert failure.step == "in"
        assert failure.message.startswith(f"read of Stuck {said}"), failure.message
        assert "after `start`" in failure.remedy
        assert not list(tmp_path.iterdir())


def nulled(batch: Batch, **more: Any) -> Batch:
    numbers: pa.RecordBatch = pa.record_batch([pa.array([None, 2, None], pa.int64())], ["n"])
    return replace(batch, data=numbers, **more)


GONE = pa.array([3, 0, 1], pa.uint8())
NOT_SENT: pa.RecordBatch = pa.record_batch([pa.array([True, False, True])], ["n"])


@pytest.mark.parametrize(
    ("change", "nulls"),
    [
        (nulled, 2),
        (lambda batch: nulled(batch, kinds=pa.array([3, 0, 2], pa.uint8())), 1),
        (lambda batch: nulled(batch, kinds=GONE), 0),
        (lambda batch: nulled(batch, absent=NOT_SENT), 0),
    ],
)
def test_nulls_where_none_may_be_fail_the_unit(tmp_path: Path, change: Callable[[Batch], Any], nulls: int) -> None:
    """P2-F9: they arrived as "success". Cells that were not sent, and rows that only name what is gone, have none."""
    for failure in (
        ran(tmp_path, Changed(3, 3, change)).failure,
        ran(tmp_path, Countdown(3, 3), change=change).failure,
    ):
        said = f"gives {nulls} null{'s' if nulls > 1 else ''} of countdown in n, which is declared NOT NULL"
        if nulls:
            assert failure is not None and said in failure.message, failure
        else:
            assert failure is None or "NOT NULL" not in failure.message


def test_a_position_that_is_too_large_is_an_error_of_the_source(tmp_path: Path) -> None:
    """P2-F10: 5 MB were written with every checkpoint and split, and nothing said so."""
    large = lambda batch: replace(batch, end=Position({"left": 0, "seen": "x" * 2**20}))  # noqa: E731

    failure = ran(tmp_path, Changed(3, 3, large)).failure

    assert failure is not None
    assert failure.message.startswith("read of Changed gives a position of 1,048,599 bytes")
    assert "env.state.max-bytes" in failure.message
    assert not list(tmp_path.iterdir())
