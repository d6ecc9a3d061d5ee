"""What a reader reports leaves its unit with the result, whichever way the rows take."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from test_careful import Picky, careful
from toys import Lines, Numbers, unit, written

from seatunnel_py.api import Element, Plain, Position, Reader, ReaderEvent, SourceTable, Split
from seatunnel_py.work.run import run_unit
from seatunnel_py.work.unit import result_from_plain


@dataclass(frozen=True)
class Reporting(Numbers):
    """Tells before each batch where it stands."""

    def reader(self, table: SourceTable) -> Reader:
        return _Reader(super().reader(table))


class _Reader(Reader):
    def __init__(self, inner: Reader) -> None:
        self._inner = inner

    def read(self, split: Split, start: Position | None) -> Iterator[Element]:
        for element in self._inner.read(split, start):
            told: Plain = {"before": element.data.column(0)[0].as_py()}  # type: ignore[union-attr]
            yield ReaderEvent(told, start)
            yield element


@pytest.mark.parametrize("bad", [frozenset(), frozenset({3, 77})])
def test_events_leave_with_the_result(tmp_path: Path, bad: frozenset[int]) -> None:
    """Each once and in order, also where the unit is gone through again for bad rows; they outlive the journal."""
    source = Reporting()
    sink: Lines = Picky(str(tmp_path / "out"), bad=bad)

    result = run_unit(unit(source), careful(source, tmp_path, sink))

    assert result.failure is None and written(tmp_path / "out") == sorted(set(range(100)) - bad)
    assert result.events == tuple(("all", {"before": n}) for n in range(0, 100, 10))
    assert result_from_plain(json.loads(json.dumps(result.to_plain()))) == result


def test_a_unit_that_stops_reports_what_it_has_read(tmp_path: Path) -> None:
    source = Reporting()

    first = run_unit(unit(source, rows=30), careful(source, tmp_path, Lines(str(tmp_path / "out"))))
    second = run_unit(unit(source, start=first.next), careful(source, tmp_path, Lines(str(tmp_path / "out"))))

    told = [event for result in (first, second) for _, event in result.events]
    assert told == [{"before": n} for n in range(0, 100, 10)]


def test_a_failed_unit_reports_nothing(tmp_path: Path) -> None:
    """It will be read again."""
    source = Reporting(act="fatal", at=50)

    result = run_unit(unit(source), careful(source, tmp_path, Lines(str(tmp_path / "out"))))

    assert result.failure is not None and not result.events
