"""Readers get the wishes of the engine: as an argument, or, if they take none, in their attributes for one release."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from seatunnel_py.api import PLAIN_READ, FixedSplits, Heartbeat, Position, ReadContext, Reader, Split, TablePath
from seatunnel_py.api.source import read_with

SPLIT = Split("s", TablePath.parse("t"))
CONTEXT = ReadContext(until=Position({"at": 3}), tolerant=True, with_metadata=False)


class TakesContext(Reader):
    def read(self, split: Split, start: Position | None, context: ReadContext = PLAIN_READ) -> Iterator[Any]:
        yield context


class OfTheReleaseBefore(Reader):
    def read(self, split: Split, start: Position | None) -> Iterator[Any]:  # type: ignore[override]
        assert self.until is not None
        yield ReadContext(self.until, self.tolerant, self.with_metadata)


def test_every_reader_gets_the_context() -> None:
    for reader in (TakesContext(), OfTheReleaseBefore()):
        assert list(read_with(reader, SPLIT, None, CONTEXT)) == [CONTEXT]


def test_fixed_splits_are_given_once() -> None:
    """From a list, and from a function, which is called once and late."""
    calls: list[Heartbeat] = []

    def found() -> list[Split]:
        calls.append(Heartbeat(Position({})))
        return [SPLIT]

    given, late = FixedSplits([SPLIT]), FixedSplits(found)
    assert not calls
    for enumerator in (given, late):
        assert [list(enumerator.discover()), list(enumerator.discover())] == [[SPLIT], []]
    assert len(calls) == 1
