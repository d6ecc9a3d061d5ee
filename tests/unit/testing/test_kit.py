"""The conformance kit finds what is wrong with plugins that promise too much, and names it."""

from __future__ import annotations

import random
import re
import threading
from ast import literal_eval
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from seatunnel_example import Countdown, CountdownFactory, CountdownOptions, CountdownReader, LinesOptions

from seatunnel_py.api import (
    Batch,
    CommitContext,
    Committer,
    Determinism,
    Guarantee,
    Piece,
    Position,
    Reader,
    Sink,
    SinkCapabilities,
    SinkFactory,
    Source,
    SourceCapabilities,
    SourceTable,
    Split,
    StepContext,
    TablePath,
    TableSchema,
    WriteContext,
    Writer,
    failpoint,
)
from seatunnel_py.testing import Report, SinkTarget, SourceTarget, check_sink, check_source

BEFORE = failpoint("toy.commit.before", "Nothing is done.")
BETWEEN = failpoint("toy.commit.inside", "Some rows are visible; others are not.")


@dataclass(frozen=True)
class Toy(Sink):
    """Stages a file per attempt and appends it to ``all`` with the commit; ``flaw`` says what is wrong with it."""

    directory: str
    flaw: str

    def open(self, context: WriteContext) -> Writer:
        return ToyWriter(self, context)

    def committer(self) -> Committer:
        return ToyCommitter(self)


class ToyWriter(Writer):
    def __init__(self, sink: Toy, context: WriteContext) -> None:
        attempt = f"{context.incarnation}.{context.attempt}"
        self.path = Path(sink.directory, f".{context.data_id.replace('@', '_')}.{attempt}")
        self.sink, self.rows = sink, list[Any]()

    def write(self, batch: Batch) -> None:
        self.rows += [tuple(row.values()) for row in batch.data.to_pylist()]

    def stage(self) -> Piece:
        rows = self.rows[1:] if self.sink.flaw == "loses a row" else self.rows
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text("".join(f"{row!r}\n" for row in rows))
        if self.sink.flaw == "shows at once":
            self.path.rename(self.path.with_name(self.path.name[1:]))
        if self.sink.flaw == "stages nothing":
            return None  # type: ignore[return-value]
        more = {"at": date.min} if self.sink.flaw == "stages what no record holds" else {}
        return Piece(len(self.rows), data={"path": str(self.path), **more})  # type: ignore[arg-type]

    def abort(self) -> None:
        if self.sink.flaw == "abort raises":
            raise RuntimeError("there is nothing to abort")


class ToyCommitter(Committer):
    def __init__(self, sink: Toy) -> None:
        self.sink = sink

    def commit(self, pieces: list[Piece], context: CommitContext) -> None:  # type: ignore[override]
        if self.sink.flaw == "exits":
            raise SystemExit(0)
        if self.sink.flaw != "has no failpoints":
            BEFORE.hit()
        for number, piece in enumerate(pieces):
            staged = Path(str(piece.data["path"]))
            name = f"{context.checkpoint}-{number}"
            if self.sink.flaw == "commits twice":
                name += f"-{len(list(staged.parent.iterdir()))}"
                Path(staged.parent, name).write_bytes(staged.read_bytes())
            elif staged.exists():
                staged.rename(staged.with_name(name))
            if self.sink.flaw != "has no failpoints":
                BETWEEN.hit()
        if context.final and self.sink.flaw != "leaves files":
            for path in Path(self.sink.directory).glob(".*"):
                path.unlink()

    def abort(self, pieces: list[Piece], context: CommitContext) -> None:  # type: ignore[override]
        for piece in pieces:
            Path(str(piece.data["path"])).unlink(missing_ok=True)


class ToyFactory(SinkFactory[LinesOptions]):
    name = "Toy"
    options = LinesOptions

    def __init__(self, flaw: str) -> None:
        self.flaw = flaw

    def capabilities(self, options: LinesOptions, table: TableSchema, context: StepContext) -> SinkCapabilities:
        return SinkCapabilities(Guarantee.TWO_PHASE_COMMIT, "a toy")

    def create(self, options: LinesOptions, table: TableSchema, context: StepContext) -> Sink:
        return Toy(options.directory, self.flaw)


def checked(folder: Path, flaw: str) -> Report:
    def fresh(number: int) -> SinkTarget:
        place = folder / str(number)

        def rows() -> list[Any]:
            found = place.glob("[!.]*")
            return [literal_eval(line) for path in found for line in path.read_text().splitlines()]

        left = lambda: [path.name for path in place.glob(".*")]  # noqa: E731
        return SinkTarget(ToyFactory(flaw), {"directory": str(place)}, rows, left)

    return check_sink(fresh)


def test_a_plugin_that_keeps_its_promises_has_nothing_broken(tmp_path: Path) -> None:
    """And was killed at each of its failpoints."""
    report = checked(tmp_path, "")

    assert not report.broken, report.text
    assert "it recovers from a kill at toy.commit.inside" in report.text


@pytest.mark.parametrize(
    ("flaw", "broken"),
    [
        ("loses a row", "every row is confirmed and arrives"),
        ("shows at once", "no row is visible before the commit"),
        ("commits twice", "a repeated commit has no further effect"),
        ("leaves files", "two attempts at the same rows count once"),
        ("abort raises", "an aborted unit leaves nothing"),
        ("stages nothing", "every row is confirmed and arrives"),
        ("stages what no record holds", "a whole run reaches its end, with its data passed through a journal"),
        ("exits", "every row is confirmed and arrives"),
    ],
)
def test_a_broken_promise_is_named(tmp_path: Path, flaw: str, broken: str) -> None:
    """Not as an assertion somewhere inside, but as what the plugin's users would have relied on."""
    report = checked(tmp_path, flaw)

    assert broken in [finding.property for finding in report.broken], report.text


def test_a_sink_that_was_never_killed_does_not_look_as_if_it_had_been(tmp_path: Path) -> None:
    """P2-F8: it is killed around all that the kit calls; inside of its commit only a failpoint can, and the report says
    so."""
    report = checked(tmp_path, "has no failpoints")

    assert "not promised it recovers from a kill inside of its commit: it has no failpoint there" in report.text
    for moment in ("write.between", "stage.after", "commit.before", "commit.after"):
        assert f"kept         it recovers from a kill at kit.{moment}" in report.text, report.text


class Forgetful(Sink):
    """An idempotent sink without failpoints: a file per unit, of the first batch where an attempt before was killed."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def open(self, context: WriteContext) -> Writer:
        return ForgetfulWriter(Path(self.directory, context.data_id.replace("@", "_")))


class ForgetfulWriter(Writer):
    def __init__(self, path: Path) -> None:
        self.path, self.rows, self.done = path, 0, path.exists()

    def write(self, batch: Batch) -> None:
        self.rows += batch.rows
        self.path.parent.mkdir(exist_ok=True)
        if not self.done:
            with self.path.open("a") as file:
                file.writelines(f"{tuple(row.values())!r}\n" for row in batch.data.to_pylist())

    def stage(self) -> Piece:
        return Piece(self.rows)

    def abort(self) -> None:
        return


class ForgetfulFactory(ToyFactory):
    def capabilities(self, options: LinesOptions, table: TableSchema, context: StepContext) -> SinkCapabilities:
        return SinkCapabilities(Guarantee.IDEMPOTENT, "a file per unit")

    def create(self, options: LinesOptions, table: TableSchema, context: StepContext) -> Sink:
        return Forgetful(options.directory)


def test_an_idempotent_sink_without_failpoints_is_killed_too(tmp_path: Path) -> None:
    """P2-F8: it was never killed, and the report looked as if all was well: half a unit stays for the whole of it."""

    def fresh(number: int) -> SinkTarget:
        place = tmp_path / str(number)
        rows = lambda: [literal_eval(line) for path in place.glob("*") for line in path.read_text().splitlines()]  # noqa: E731
        return SinkTarget(ForgetfulFactory(""), {"directory": str(place)}, rows)

    report = check_sink(fresh)

    assert [finding.property for finding in report.broken] == ["it recovers from a kill at kit.write.between"], (
        report.text
    )


@dataclass(frozen=True)
class Hasty(Countdown):
    """Its positions lie one batch too far."""

    def reader(self, table: SourceTable) -> Reader:
        return HastyReader(self)


class HastyReader(CountdownReader):
    def read(self, split: Split, start: Position | None) -> Iterator[Batch]:
        for batch in super().read(split, start):
            assert batch.end is not None
            left = int(str(batch.end.value["left"]))  # type: ignore[index,call-overload]
            yield replace(batch, end=Position({"left": max(0, left - 1)}))


class HastyFactory(CountdownFactory):
    def create(self, options: CountdownOptions, context: StepContext) -> Source:
        return Hasty(options.start, options.batch)


@dataclass(frozen=True)
class Flawed(Countdown):
    """``flaw``: its positions lie behind rows that come, or do not move; it gives a null; or its rows change places."""

    flaw: str = ""

    def reader(self, table: SourceTable) -> Reader:
        return FlawedReader(self)


class FlawedReader(CountdownReader):
    def read(self, split: Split, start: Position | None) -> Iterator[Batch]:
        assert isinstance(self._source, Flawed)
        flaw = self._source.flaw
        for batch in super().read(split, None if flaw == "ignores where it begins" else start):
            assert batch.end is not None
            left = int(str(batch.end.value["left"]))
            match flaw:
                case "lags":
                    yield replace(batch, end=Position({"left": left + 50}))
                case "stands still":
                    yield replace(batch, end=Position({"left": 1}))
                case "null":
                    nulls: Any = pa.record_batch([pa.array([None] * batch.rows, pa.int64())], ["n"])
                    yield replace(batch, data=nulls)
                case "shuffles":
                    yield replace(batch, data=batch.data.take(pa.array(random.sample(range(batch.rows), batch.rows))))
                case _:
                    yield batch


class FlawedFactory(CountdownFactory):
    def __init__(self, flaw: str, determinism: Determinism) -> None:
        self.flaw, self.determinism = flaw, determinism

    def capabilities(self, options: CountdownOptions, context: StepContext) -> SourceCapabilities:
        return SourceCapabilities(determinism=self.determinism)

    def create(self, options: CountdownOptions, context: StepContext) -> Source:
        return Flawed(options.start, options.batch, self.flaw)


@pytest.mark.parametrize("determinism", list(Determinism))
@pytest.mark.parametrize(
    ("flaw", "broken"),
    [
        ("lags", "after every position exactly the rest is read"),
        ("ignores where it begins", "after every position exactly the rest is read"),
        ("stands still", "after every position exactly the rest is read"),
        ("null", "batches match the schema"),
        ("", ""),
    ],
)
def test_a_source_that_gives_rows_twice_is_found_whatever_it_declares(
    determinism: Determinism, flaw: str, broken: str
) -> None:
    """P2-F1: INDETERMINATE was a way out, and 6,000 rows became 8,100 in a run without any failure. P2-F9: nulls."""
    wanted = lambda: [(at,) for at in range(250, 0, -1)]  # noqa: E731
    report = check_source(SourceTarget(FlawedFactory(flaw, determinism), {"start": 250}, wanted))

    found = [finding.property for finding in report.broken]
    assert (broken in found) if broken else not found, report.text


@pytest.mark.parametrize(("determinism", "kept"), [(one, one < Determinism.DETERMINATE) for one in Determinism])
def test_rows_in_another_order_break_only_a_promise_of_order(determinism: Determinism, kept: bool) -> None:
    """Where a target stands still an indeterminate source gives the same rows, in any order."""
    report = check_source(SourceTarget(FlawedFactory("shuffles", determinism), {"start": 250}))

    assert (not report.broken) is kept, report.text


@dataclass(frozen=True)
class Bare(Countdown):
    """Has no enumerator of its own."""

    enumerator = Source.enumerator


class BareFactory(CountdownFactory):
    def create(self, options: CountdownOptions, context: StepContext) -> Source:
        return Bare(options.start, options.batch)


def test_a_source_without_an_enumerator_gives_each_table_as_a_split() -> None:
    """P2-13: every enumerator of a bounded source wrote "give once, then nothing" by hand, and one had it wrong."""
    report = check_source(SourceTarget(BareFactory(), {"start": 250}, lambda: [(at,) for at in range(250, 0, -1)]))

    assert not report.broken, report.text
    assert [split.id for split in Bare(3, 3).splits(Bare(3, 3).tables())] == ["countdown"]


def test_a_position_gives_whole_numbers() -> None:
    """P2-13: `int(str(start.value["left"]))` stood in every reader."""
    assert Position({"left": 3}).int("left") == 3
    for value in (True, "3", 3.0, None):
        with pytest.raises(TypeError, match="no whole number 'left'"):
            Position({"left": value}).int("left")
    with pytest.raises(TypeError, match="no whole number 'right'"):
        Position({"left": 3}).int("right")


@dataclass(frozen=True)
class Shared(Countdown):
    """Counts down from what stands in a file, which others change."""

    path: str = ""

    def reader(self, table: SourceTable) -> Reader:
        return CountdownReader(replace(self, start=int(Path(self.path).read_text())))


class SharedFactory(FlawedFactory):
    def create(self, options: CountdownOptions, context: StepContext) -> Source:
        return Shared(options.start, options.batch, self.flaw)


@pytest.mark.parametrize("determinism", list(Determinism))
def test_a_source_that_others_write_to_is_disturbed(tmp_path: Path, determinism: Determinism) -> None:
    """P2-11: one word decides between exactly-once and at-least-once, and nothing had tried it."""
    path = tmp_path / "start"
    path.write_text("250")
    factory = SharedFactory(str(path), determinism)

    report = check_source(SourceTarget(factory, {"start": 250}, disturb=lambda: others(path)))

    broken = [finding.property for finding in report.broken]
    wanted = ["rows stay the same while others write there"] if determinism > Determinism.INDETERMINATE else []
    assert broken == wanted, report.text


def others(path: Path) -> None:
    path.write_text("300")


@dataclass(frozen=True)
class Locked(Countdown):
    lock: Any = None


class LockedFactory(CountdownFactory):
    def create(self, options: CountdownOptions, context: StepContext) -> Source:
        return Locked(options.start, options.batch, threading.Lock())


class LockedSinkFactory(ToyFactory):
    def create(self, options: LinesOptions, table: TableSchema, context: StepContext) -> Sink:
        return Toy(threading.Lock(), "")  # type: ignore[arg-type]


def test_what_cannot_be_sent_to_a_worker_is_a_finding(tmp_path: Path) -> None:
    """P2, mistakes: a lock in a source ended the kit with a bare TypeError, and no report."""
    source = check_source(SourceTarget(LockedFactory(), {"start": 3}))
    sink = check_sink(lambda number: SinkTarget(LockedSinkFactory(""), {"directory": str(tmp_path)}, rows=list))

    for report in (source, sink):
        (finding,) = report.broken
        assert "can be sent to a worker" in finding.property
        assert "cannot pickle '_thread.lock' object" in finding.why
        assert "Traceback" in report.text


def test_the_report_says_how_large_the_state_of_a_split_is() -> None:
    """P2-F10: a position that grows with what was read is seen before a job carries it."""
    report = check_source(SourceTarget(CountdownFactory(), {"start": 250}))

    assert "small: the largest position takes 13 bytes, the largest payload 2" in report.text, report.text


def test_a_source_that_skips_rows_after_a_restart_is_found() -> None:
    """Only that: read in one go it is right."""
    report = check_source(SourceTarget(HastyFactory(), {"start": 250}, lambda: [(at,) for at in range(250, 0, -1)]))

    assert [finding.property for finding in report.broken] == ["after every position exactly the rest is read"]


def test_the_report_shows_where_an_exception_was_raised() -> None:
    """P2-F5: pytest showed `KeyError: 'customer'`, and no line of the author's file."""
    report = check_source(SourceTarget(CarelessFactory("exception"), {"start": 3}))

    assert re.search(r"CarelessReader\.read failed: KeyError: 'customer' \(test_kit\.py:\d+\)", report.text), (
        report.text
    )
    assert 'raise KeyError("customer")' in report.text
    assert report.text.count("Traceback") == 1


@dataclass(frozen=True)
class Careless(Countdown):
    """Yields what ``flaw`` says."""

    flaw: str = ""

    def reader(self, table: SourceTable) -> Reader:
        return CarelessReader(self)


class CarelessReader(CountdownReader):
    def read(self, split: Split, start: Position | None) -> Iterator[Any]:
        assert isinstance(self._source, Careless)
        for batch in super().read(split, start):
            match self._source.flaw:
                case "rows":
                    yield batch.data
                case "position":
                    yield replace(batch, end=Position({"at": date.min}))  # type: ignore[dict-item]
                case "table":
                    yield replace(batch, table=TablePath.parse("elsewhere"))
                case "exception":
                    raise KeyError("customer")


class CarelessFactory(CountdownFactory):
    def __init__(self, flaw: str) -> None:
        self.flaw = flaw

    def create(self, options: CountdownOptions, context: StepContext) -> Source:
        return Careless(options.start, options.batch, self.flaw)


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        ("rows", "gives a RecordBatch where a Batch belongs"),
        ("position", "as the end of an element data that no checkpoint can hold: a date"),
        ("table", "rows of elsewhere instead of countdown"),
    ],
)
def test_a_source_that_gives_what_no_job_can_use_is_found(flaw: str, said: str) -> None:
    """Without a side door too: such rows used to be left out of what was compared."""
    report = check_source(SourceTarget(CarelessFactory(flaw), {"start": 3}))

    assert said in " ".join(finding.why for finding in report.broken), report.text
