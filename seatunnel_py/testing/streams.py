"""Tests the further promises of an unbounded source. A reader without rows for now must not end, and must yield its
position. Rows that come later must be read, in existing and in new splits, also after a restart from a checkpoint.

Readers run on their own threads: a reader that yields nothing while it waits would block the kit, as it blocks a job.
"""

from __future__ import annotations

import pickle
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any

from seatunnel_py.api.batch import Batch, Element, Position
from seatunnel_py.api.source import Enumerator, ReadContext, Reader, Source, Split, read_with
from seatunnel_py.testing.findings import BrokenPropertyError
from seatunnel_py.testing.reading import SourceReading, SourceTarget, remembered, rows
from seatunnel_py.work.rows.plugin_checks import OutputChecker, expect_iterable
from seatunnel_py.work.rows.positions import Positions

PATIENCE_SECONDS = 5.0
ENDED = object()


class Streaming(SourceReading):
    """Reads an unbounded source. ``ended``: splits whose readers have ended for good. A split is read as a whole only
    once, because each read waits until it is quiet."""

    def __init__(self, target: SourceTarget) -> None:
        super().__init__(target)
        self.ended: set[str] = set()
        self._restless = ""
        self._whole: dict[str, list[Batch]] = {}

    def read(self, split: Split, start: Position | None = None, wanted: int = 0) -> list[Batch]:
        whole = start is None and not wanted
        if whole and split.id in self._whole:
            return self._whole[split.id]
        found: list[Batch] = []
        for element in self.elements(split, start):
            if isinstance(element, Batch):
                found.append(element)
            if wanted and sum(batch.rows for batch in found) >= wanted:
                break
        if whole:
            self._whole[split.id] = found
        return found

    def elements(self, split: Split, start: Position | None = None, until: Position | None = None) -> Iterator[Element]:
        """Yield elements until the split is quiet, or the reader has ended."""
        if self._restless:
            raise BrokenPropertyError(self._restless)
        reader, split, start = self.opened(split, start)
        given = OutputChecker(f"read of {type(self.source).__name__}", ())
        positions = Positions(f"read of {type(self.source).__name__}", start)
        began = with_row = time.monotonic()
        rows_read = 0
        for element in _heard(reader, split, start, ReadContext(until)):
            if element is ENDED:
                self.ended.add(split.id)
                return
            given.element(element)
            positions.passed(element)
            self.largest_position = max(self.largest_position, positions.largest)
            yield element
            now = time.monotonic()
            rows_read += element.rows if isinstance(element, Batch) else 0
            self._look_for_quiet(split, now - began, rows_read)
            if isinstance(element, Batch) and element.rows:
                with_row = now
            elif now - with_row > self.target.quiet:
                return

    def _look_for_quiet(self, split: Split, seconds: float, rows_read: int) -> None:
        """Raise Broken if rows keep coming. Later tests of the split then fail at once."""
        target = self.target
        if seconds > target.limit_seconds or rows_read > target.rows_max:
            self._restless = (
                f"split {split.id} gave {rows_read:,} rows in {seconds:.1f} s without a pause of {target.quiet:g} s: "
                "hold the target still, or raise limit_seconds and rows_max"
            )
            raise BrokenPropertyError(self._restless)

    def says_so(self) -> None:
        """Check that a reader without rows yields its position (``_heard``), and that one which ends for now reads
        later rows."""
        for split in self.splits:
            for element in self.elements(split):
                if not isinstance(element, Batch) or not element.rows:
                    break

    def ends_again(self) -> None:
        for split in self.splits:
            for batch in self.read(split):
                end = batch.end
                if end is not None and not any(one.end == end for one in self._up_to(split, end)):
                    raise BrokenPropertyError(f"split {split.id}: with until = {end.value} no element ends there")

    def _up_to(self, split: Split, end: Position) -> Iterator[Any]:
        for element in self.elements(split, until=end):
            yield element
            if getattr(element, "end", None) == end:
                return

    def later(self) -> None:
        """Check that later rows are found by the running enumerator, and by one restored from its snapshot."""
        assert self.target.more is not None
        before: Counter[tuple[str, ...]] = Counter()
        stood: dict[str, Position | None] = {}
        for split in self.splits:
            for element in self.elements(split):
                stood[split.id] = getattr(element, "end", None) or stood.get(split.id)
                before.update(rows([element]) if isinstance(element, Batch) else ())
        state = remembered("the snapshot of the enumerator", self.enumerator.snapshot())
        over = set(self.ended)
        self.target.more()
        source: Source = pickle.loads(pickle.dumps(self.source))
        restored = source.enumerator(list(self.tables.values()), state)
        try:
            for who, enumerator in (("", self.enumerator), (", read from the snapshot", restored)):
                found = before.copy()
                for split in (*(one for one in self.splits if one.id not in over), *self._new(enumerator)):
                    found.update(rows(self.read(split, stood.get(split.id))))
                self.are_all(
                    found, f"{who}{'' if enumerator.interval else '; its interval is None: never asked again'}"
                )
        finally:
            restored.close()

    def _new(self, enumerator: Enumerator) -> list[Split]:
        """Ask for new splits as the engine does: only if an interval is declared, and without known ids."""
        known = {split.id for split in self.splits}
        return [one for one in enumerator.discover() if one.id not in known] if enumerator.interval else []


def _heard(reader: Reader, split: Split, start: Position | None, context: ReadContext) -> Iterator[Any]:
    """Elements of the reader, and ``ENDED`` as the last one."""
    heard: Queue[Any] = Queue(100)
    enough = Event()

    def say(what: object) -> None:
        while not enough.is_set():
            with suppress(Full):
                heard.put(what, timeout=0.05)
                return

    def read() -> None:
        try:
            for element in expect_iterable(
                f"read of {type(reader).__name__}", read_with(reader, split, start, context)
            ):
                say(element)
                if enough.is_set():
                    break
            say(ENDED)
        except BaseException as error:  # noqa: BLE001 - the plugin's own
            say(error)
        finally:
            reader.close()

    Thread(target=read, daemon=True).start()
    try:
        while True:
            try:
                found = heard.get(timeout=PATIENCE_SECONDS)
            except Empty:
                text = f"split {split.id}: its reader gives nothing for {PATIENCE_SECONDS:g} s, not even a Heartbeat"
                raise BrokenPropertyError(f"{text}: no unit of it ends, and no checkpoint") from None
            if isinstance(found, BaseException):
                raise found
            yield found
    finally:
        enough.set()
