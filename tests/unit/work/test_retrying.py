"""A unit whose rejected rows come back: whoever rejects them, however that is said, each gets its attempts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toys import Halve, Numbers, chain

from seatunnel_py.api import BadRowsError, Batch, Rejected, TablePath
from seatunnel_py.work.bad_rows import quarantine_file
from seatunnel_py.work.bad_rows.limits import STAGED, ErrorLimits
from seatunnel_py.work.chain import Chain, ChainChannel, ChainRetry
from seatunnel_py.work.rows.retry_loop import ATTEMPT
from seatunnel_py.work.run import run_unit
from seatunnel_py.work.segments import SegmentWriter, read_slices
from seatunnel_py.work.unit import QUARANTINE, Slice, Unit, UnitId, UnitResult

BACK = "t>t"
TIMES = 3
TABLE = TablePath.parse("numbers")


@dataclass(frozen=True)
class Moody(Halve):
    """Takes a row at its attempt ``n % modulus``, and says which rows it rejects in one of three ways."""

    modulus: int = 6
    way: str = "named"

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:  # type: ignore[override]
        attempts = batch.metadata[ATTEMPT].to_pylist()
        mask = [n % self.modulus <= at for n, at in zip(batch.data.column("n").to_pylist(), attempts, strict=True)]
        bad = [row for row, good in enumerate(mask) if not good]
        if bad and self.way == "raised":
            raise BadRowsError("not now")
        if bad:
            names = tuple(bad) if self.way == "named" else ()
            yield Rejected(batch.table, batch.data.take(bad), ("not now",) * len(bad), rows=names)
        if any(mask):
            metadata = {name: values.filter(pa.array(mask)) for name, values in batch.metadata.items()}
            yield replace(batch, data=batch.data.filter(pa.array(mask)), metadata=metadata)


class Loop:
    """Runs units of a vertex with a back-edge, and carries its rows round."""

    def __init__(self, place: Path, transform: Halve, *, most: int = 1000) -> None:
        errors = ErrorLimits(str(place / "bad"), most) if most else None
        made = chain(Numbers(), place / "out", transform)
        self.chain: Chain = replace(
            made,
            vertex="t",
            head=ChainChannel("s>t", str(place)),
            sinks=(),
            output=ChainChannel("t", str(place)),
            retry=ChainRetry(BACK, TIMES),
            errors=errors,
        )
        self.place = place
        self.results: list[UnitResult] = []

    def sent(self, *batches: list[int]) -> tuple[Slice, ...]:
        writer = SegmentWriter(str(self.place), f"1.s{len(self.results)}")
        for numbers in batches:
            writer.add(Batch(TABLE, pa.record_batch({"n": pa.array(numbers, pa.int64())})))
        return writer.finish("s>t")

    def run(self, slices: tuple[Slice, ...], attempt: int = 0) -> UnitResult:
        unit = Unit(UnitId("t", len(self.results), attempt=attempt), slices=slices)
        self.results.append(run_unit(unit, self.chain))
        return self.results[-1]

    def until_empty(self, slices: tuple[Slice, ...]) -> None:
        while slices:
            result = self.run(slices)
            assert result.failure is None, result.failure
            slices = tuple(one for one in result.slices if one.channel == BACK)

    def came_out(self) -> dict[int, int]:
        """Each number that went on, and at which attempt."""
        forward = [one for result in self.results for one in result.slices if one.channel != BACK]
        rows = [
            (n, at)
            for batch in read_slices(forward)
            for n, at in zip(batch.data.column("n").to_pylist(), batch.metadata[ATTEMPT].to_pylist(), strict=True)
        ]
        assert len(rows) == len(dict(rows)), "a row went on twice"
        return dict(rows)

    def bad(self) -> Counter[int]:
        """The rows that were given up."""
        found: Counter[int] = Counter()
        for piece in (piece for result in self.results for piece in result.pieces):
            assert piece.step == QUARANTINE
            data = piece.piece.data
            for about, bad in quarantine_file.read(f"{data['location']}/{STAGED}/{data['file']}"):
                assert about.step == "t0" and ATTEMPT not in bad.batch.metadata, "a replay begins to count anew"
                assert {fault.error for fault in bad.faults} == {f"not now (rejected {TIMES + 1} times)"}
                found.update(bad.batch.data.column("n").to_pylist())
        return found


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=st.lists(st.integers(1, 40), min_size=1, max_size=4), way=st.sampled_from(["named", "unnamed", "raised"]))
def test_every_row_has_its_attempts(tmp_path_factory: pytest.TempPathFactory, rows: list[int], way: str) -> None:
    """It goes on at the first attempt that takes it, once, or is set aside, once; and the counts say so."""
    loop = Loop(tmp_path_factory.mktemp("loop"), Moody(way=way))
    numbers = iter(range(sum(rows)))
    slices = loop.sent(*([next(numbers) for _ in range(count)] for count in rows))

    loop.until_empty(slices)

    assert loop.came_out() == {n: n % 6 for n in range(sum(rows)) if n % 6 <= TIMES}
    assert loop.bad() == Counter(n for n in range(sum(rows)) if n % 6 > TIMES)
    counts = [count for result in loop.results for count in result.counts if count.step == "t0"]
    assert sum(count.rejected for count in counts) == loop.bad().total()
    assert sum(count.rows_out for count in counts) == len(loop.came_out())
    assert all(count.rows_in == count.rows_out + count.rejected for count in counts)


def test_a_step_that_names_its_rows_is_asked_once(tmp_path: Path) -> None:
    """What it does may cost something: nobody tries rows to find out which ones it meant."""
    calls: list[int] = []

    @dataclass(frozen=True)
    class Counted(Moody):
        def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:  # type: ignore[override]
            calls.append(batch.rows)
            return super().apply(batch)

    Loop(tmp_path, Counted()).run(Loop(tmp_path, Moody()).sent(list(range(30))))

    assert calls == [30]


def test_rows_that_no_limit_allows_fail_the_unit_after_their_attempts(tmp_path: Path) -> None:
    """Not before: the limit is about rows that were given up."""
    loop = Loop(tmp_path, Moody(), most=0)
    slices = loop.sent(list(range(6)))
    for _ in range(TIMES):
        result = loop.run(slices)
        assert result.failure is None
        slices = tuple(one for one in result.slices if one.channel == BACK)

    failure = loop.run(slices).failure

    assert failure is not None and failure.step == "t0"
    assert "refused 2 rows of numbers: not now (rejected 4 times)" in failure.message
    assert "env.error.max-rows" in failure.remedy


def test_each_attempt_at_a_unit_has_a_file_of_its_own(tmp_path: Path) -> None:
    """Another attempt may give up other rows, and a late word of one must not change what the other has said."""
    loop = Loop(tmp_path, Moody())
    slices = loop.sent(list(range(6)))
    for _ in range(TIMES):
        slices = tuple(one for one in loop.run(slices).slices if one.channel == BACK)

    files = {loop.run(slices, attempt).pieces[0].piece.data["file"] for attempt in range(2)}

    assert len(files) == 2
