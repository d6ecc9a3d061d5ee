"""Bad rows are set aside, the others arrive: whoever refuses them, wherever that shows, whatever dies in between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toys import Halve, Lines, Numbers, chain, unit, written

from seatunnel_py.api import (
    BadRowsError,
    Batch,
    Element,
    Piece,
    Position,
    Reader,
    Rejected,
    Skipped,
    SourceTable,
    Split,
)
from seatunnel_py.api.sink import WriteContext, Writer
from seatunnel_py.work.bad_rows import quarantine_file
from seatunnel_py.work.bad_rows.limits import STAGED, ErrorLimits
from seatunnel_py.work.chain import Chain, ChainChannel
from seatunnel_py.work.run import run_unit
from seatunnel_py.work.segments import read_slices
from seatunnel_py.work.unit import QUARANTINE, FailureKind, Unit, UnitId, UnitResult


@dataclass(frozen=True)
class Picky(Lines):
    """Refuses some numbers, and a second one with the same remainder where ``modulus`` is given: when they are written,
    or not before it is staged."""

    bad: frozenset[int] = frozenset()
    late: bool = False
    modulus: int = 0

    def open(self, context: WriteContext) -> Writer:
        return _PickyWriter(self, super().open(context))


class _PickyWriter(Writer):
    def __init__(self, sink: Picky, writer: Writer) -> None:
        self.sink = sink
        self.writer = writer
        self.numbers: list[int] = []

    def write(self, batch: Batch) -> None:
        self.numbers += batch.data.column("n").to_pylist()
        if not self.sink.late:
            self.flush()
        self.writer.write(batch)

    def flush(self) -> None:
        refused = [n for n in self.numbers if n in self.sink.bad]
        if refused:
            raise BadRowsError(f"{refused[0]} is too long")
        if self.sink.modulus:
            keys = [n % self.sink.modulus for n in self.numbers]
            if len(set(keys)) < len(keys):
                raise BadRowsError("the key is there already")

    def stage(self) -> Piece:
        self.flush()
        return self.writer.stage()

    def abort(self) -> None:
        self.writer.abort()


@dataclass(frozen=True)
class Choosy(Halve):
    """Refuses what is divisible by 7, and cannot compute with what ends in 13."""

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:  # type: ignore[override]
        values = batch.data.column("n").to_pylist()
        if any(n % 100 == 13 for n in values):
            raise ValueError("unlucky")
        sevens = pa.array([n % 7 == 0 for n in values])
        if sevens.true_count:
            yield Rejected(batch.table, batch.data.filter(sevens), ("divisible by 7",) * sevens.true_count)
        yield replace(batch, data=batch.data.filter(pc.invert(sevens)))


def careful(source: Numbers, place: Path, sink: Lines, *transforms: Halve, most: int = 1000) -> Chain:
    made = chain(source, place / "out", *transforms)
    sinks = tuple(replace(bound, sink=sink) for bound in made.sinks)
    return replace(made, sinks=sinks, errors=ErrorLimits(str(place / "bad"), most))


def aside(result: UnitResult) -> dict[int, tuple[str, str]]:
    """The rows that a result has set aside, with step and error."""
    found: dict[int, tuple[str, str]] = {}
    for piece in result.pieces:
        if piece.step == QUARANTINE:
            data = piece.piece.data
            for _, bad in quarantine_file.read(f"{data['location']}/{STAGED}/{data['file']}"):
                values = bad.batch.data.column(0).to_pylist()
                found |= {n: (one.step, one.error) for n, one in zip(values, bad.faults, strict=True)}
    return found


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bad=st.frozensets(st.integers(0, 99)), late=st.booleans())
def test_what_a_sink_refuses_is_set_aside(
    tmp_path_factory: pytest.TempPathFactory, bad: frozenset[int], late: bool
) -> None:
    """All good rows arrive once and in order, all bad ones are kept with the reason, and the counts say so."""
    place = tmp_path_factory.mktemp("unit")
    source = Numbers()

    result = run_unit(unit(source), careful(source, place, Picky(str(place / "out"), bad=bad, late=late)))

    assert (result.failure, result.rows, result.done) == (None, 100, True)
    assert written(place / "out") == sorted(set(range(100)) - bad)
    assert aside(result) == {n: ("lines", f"{n} is too long") for n in bad}
    assert sum(count.rejected for count in result.counts) == len(bad)
    head = next(count for count in result.counts if count.step == "numbers")
    assert (head.rows_in, head.rows_out) == (100, 100 - len(bad))


def test_what_a_transform_refuses_is_set_aside(tmp_path: Path) -> None:
    """A row that it refuses, and one that it cannot compute with; kept is the row as it was read."""
    source = Numbers(rows=300)

    result = run_unit(unit(source), careful(source, tmp_path, Lines(str(tmp_path / "out")), Choosy()))

    bad = {n for n in range(300) if n % 7 == 0 or n % 100 == 13}
    assert result.failure is None
    assert written(tmp_path / "out") == sorted(set(range(300)) - bad)
    assert set(aside(result)) == bad
    assert aside(result)[113] == ("t0", "unlucky")


def test_of_rows_that_exclude_one_another_the_first_arrives(tmp_path: Path) -> None:
    """Each of them would pass alone; that they do not together shows when they are written."""
    source = Numbers(rows=25, batch=10)

    result = run_unit(unit(source), careful(source, tmp_path, Picky(str(tmp_path / "out"), modulus=20, late=True)))

    assert result.failure is None
    assert written(tmp_path / "out") == list(range(20))
    assert set(aside(result)) == {20, 21, 22, 23, 24}


def test_more_bad_rows_than_allowed_fail_the_unit(tmp_path: Path) -> None:
    """The first ones are named, and how to allow more; nothing is staged and nothing set aside."""
    source = Numbers()
    sink = Picky(str(tmp_path / "out"), bad=frozenset({3, 50, 99}))

    result = run_unit(unit(source), careful(source, tmp_path, sink, most=2))

    assert result.failure is not None and result.failure.kind is FailureKind.FATAL
    assert "error.max-rows = 2" in result.failure.message
    assert "row 4: 3 is too long; row 51: 50 is too long" in result.failure.message
    assert (result.pieces, written(tmp_path / "out")) == ((), [])
    assert list((tmp_path / "bad").rglob("*.*")) == []


def test_without_limits_a_bad_row_fails_the_unit_and_the_remedy_says_how_to_allow_it(tmp_path: Path) -> None:
    """The table fails as it always did."""
    source = Numbers()
    made = careful(source, tmp_path, Picky(str(tmp_path / "out"), bad=frozenset({3})))

    result = run_unit(unit(source), replace(made, errors=None))

    assert result.failure is not None
    assert (result.failure.message, result.failure.step) == ("3 is too long", "lines")
    assert "env.error.max-rows" in result.failure.remedy


def test_a_later_attempt_follows_what_an_earlier_one_decided(tmp_path: Path) -> None:
    """The worker died when everything was staged. Meanwhile the target takes such rows; but the target may hold the
    others as this unit already, so the same ones are left out, and just as far is read."""
    source = Numbers(batch=10)
    sink = Picky(str(tmp_path / "out"), bad=frozenset({3, 15}))
    first = run_unit(unit(source, rows=30), careful(source, tmp_path, sink))
    again = replace(unit(source, rows=80), id=UnitId("numbers", 0, 0, 1))

    second = run_unit(again, careful(source, tmp_path, replace(sink, bad=frozenset())))

    assert (first.rows, first.next) == (second.rows, second.next) == (30, Position({"n": 30}))
    assert set(aside(first)) == set(aside(second)) == {3, 15}
    assert [piece.piece.rows for piece in second.pieces] == [28, 2]


def test_a_decision_about_other_rows_is_not_followed(tmp_path: Path) -> None:
    """What is read under a position may be something else by now: then it is looked into anew."""
    source = Numbers(batch=10)
    sink = Picky(str(tmp_path / "out"), bad=frozenset({3, 15}))
    made = careful(source, tmp_path, sink)
    run_unit(unit(source), made)
    shifted = replace(made, head=replace(made.head, source=Shifted()))  # type: ignore[type-var]
    again = replace(unit(source), id=UnitId("numbers", 0, 0, 1))

    result = run_unit(again, shifted)

    assert result.failure is None
    assert set(aside(result)) == {15}


@dataclass(frozen=True)
class Shifted(Numbers):
    """The numbers from 10 on."""

    def reader(self, table: SourceTable) -> Reader:
        return _ShiftedReader(super().reader(table))


class _ShiftedReader(Reader):
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def read(self, split: Split, start: Position | None) -> Iterator[Element]:
        for element in self._reader.read(split, start):
            assert isinstance(element, Batch)
            moved = pa.RecordBatch.from_pydict({"n": pc.add(element.data.column("n"), 10)})
            yield replace(element, data=moved)


@dataclass(frozen=True)
class Garbled(Numbers):
    """Before each of its batches lies a record that cannot be decoded."""

    def reader(self, table: SourceTable) -> Reader:
        return _GarbledReader(super().reader(table))


class _GarbledReader(_ShiftedReader):
    def read(self, split: Split, start: Position | None) -> Iterator[Element]:
        for element in self._reader.read(split, start):
            raw = pa.RecordBatch.from_pydict({"raw": pa.array([b"\xff{"], pa.binary())})
            yield Rejected(split.table, raw, ("not a document",))
            yield element


def test_what_a_reader_cannot_decode_is_kept_as_it_came(tmp_path: Path) -> None:
    """The bytes, the reason, and the position; counted as read and as rejected."""
    source = Garbled(rows=20)

    result = run_unit(unit(source), careful(source, tmp_path, Lines(str(tmp_path / "out"))))

    assert (result.failure, result.rows) == (None, 22)
    assert written(tmp_path / "out") == list(range(20))
    assert aside(result) == {b"\xff{": ("numbers", "not a document")}
    assert sum(count.rejected for count in result.counts) == 2


def test_what_a_reader_cannot_decode_fails_a_unit_that_allows_nothing(tmp_path: Path) -> None:
    """Never silently lost."""
    source = Garbled(rows=20)

    result = run_unit(unit(source), replace(careful(source, tmp_path, Lines(str(tmp_path / "out"))), errors=None))

    assert result.failure is not None
    assert "numbers refused 1 row of numbers: not a document" in result.failure.message


@dataclass(frozen=True)
class Skipping(Numbers):
    """In front of each of its batches lie two records that it skips."""

    def reader(self, table: SourceTable) -> Reader:
        return _SkippingReader(super().reader(table))


class _SkippingReader(_ShiftedReader):
    def read(self, split: Split, start: Position | None) -> Iterator[Element]:
        for element in self._reader.read(split, start):
            yield Skipped(split.table, 2)
            yield element


@pytest.mark.parametrize("bad", [frozenset[int](), frozenset({3, 17})])
def test_what_a_reader_skips_is_counted_with_bad_rows_and_without(tmp_path: Path, bad: frozenset[int]) -> None:
    """As rows that went into the source's step and did not come out of it."""
    source = Skipping(rows=20)

    result = run_unit(unit(source), careful(source, tmp_path, Picky(str(tmp_path / "out"), bad=bad)))

    assert (result.failure, result.rows) == (None, 20)
    assert written(tmp_path / "out") == sorted(set(range(20)) - bad)
    head = next(count for count in result.counts if count.step == "numbers")
    assert (head.rows_in, head.rows_out, head.rejected) == (24, 20 - len(bad), len(bad))


def test_rows_behind_a_channel_are_set_aside_where_they_fail(tmp_path: Path) -> None:
    """A unit of slices: its rows come from a channel, and go to a channel."""
    source = Numbers()
    out = ChainChannel("c", (tmp_path / "exchange").as_uri())
    first = run_unit(unit(source), replace(chain(source, tmp_path), sinks=(), output=out))
    sink = Picky(str(tmp_path / "out"), bad=frozenset({42}))
    behind = replace(careful(source, tmp_path, sink), head=out)

    result = run_unit(Unit(UnitId("numbers", 0), slices=first.slices), behind)

    assert result.failure is None
    assert written(tmp_path / "out") == [n for n in range(100) if n != 42]
    assert set(aside(result)) == {42}


def test_a_row_that_a_transform_refuses_does_not_reach_the_channel(tmp_path: Path) -> None:
    """Nor anything of the trials."""
    source = Numbers(rows=20)
    out = ChainChannel("c", (tmp_path / "exchange").as_uri())

    result = run_unit(
        unit(source), replace(careful(source, tmp_path, Lines(str(tmp_path / "out")), Choosy()), sinks=(), output=out)
    )

    assert result.failure is None
    numbers = [n for batch in read_slices(result.slices) for n in batch.data.column("n").to_pylist()]
    assert numbers == [n for n in range(20) if n % 7 and n != 13]


def test_files_are_for_the_owner_only_and_nothing_else_is_left(tmp_path: Path) -> None:
    """Bad rows may be personal data (S14); the spool is gone."""
    source = Numbers()

    run_unit(unit(source), careful(source, tmp_path, Picky(str(tmp_path / "out"), bad=frozenset({42}))))

    (file,) = (path for path in (tmp_path / "bad").rglob("*") if path.is_file())
    assert file.stat().st_mode & 0o777 == 0o600
