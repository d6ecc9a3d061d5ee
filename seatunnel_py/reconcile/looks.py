"""Performs looks: reads both sides of a comparison at the same time, and keeps what was asked for in bounded memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from seatunnel_py.reconcile.digests import RANGES, KeyStates, RangeDigests, range_of
from seatunnel_py.reconcile.row_hashes import Hashes
from seatunnel_py.reconcile.side_reader import ComparedRows, ReadingPath, WantedRows
from seatunnel_py.reconcile.suspects import Look

if TYPE_CHECKING:
    import pyarrow as pa

KEPT_ROWS_MAX = 20_000
KEPT_BYTES_MAX = 32 << 20

Progress = Callable[[str, int], None]
"""Gets the side, ``source`` or ``target``, and how many rows of it were read."""


class RowCollector(Protocol):
    """Takes the rows of one side that it wants."""

    @property
    def wanted(self) -> WantedRows: ...

    def add(self, block: ComparedRows) -> None: ...


CollectorT = TypeVar("CollectorT", bound=RowCollector)


class AllRows:
    """Wants every row."""

    def among(self, keys: Hashes) -> None:
        return None


class DigestCollector:
    """Adds up all rows by key range."""

    def __init__(self) -> None:
        self.wanted = AllRows()
        self.digests = RangeDigests()
        self.unreadable = 0

    def add(self, block: ComparedRows) -> None:
        self.unreadable += block.unreadable
        self.digests.add(block.keys, block.rows)


@dataclass(frozen=True, slots=True, eq=False)
class WantedRanges:
    """The keys of some key ranges."""

    mask: Any

    @staticmethod
    def of(ranges: Any) -> WantedRanges:
        mask = np.zeros(RANGES, bool)
        mask[ranges] = True
        return WantedRanges(mask)

    def among(self, keys: Hashes) -> Any:
        return self.mask[range_of(keys)]


@dataclass(frozen=True, slots=True, eq=False)
class WantedKeys:
    """Some keys, by their hashes in ascending order."""

    keys: Hashes

    def among(self, keys: Hashes) -> Any:
        if not len(self.keys):
            return np.zeros(len(keys), bool)
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return self.keys[places] == keys


@dataclass(slots=True, eq=False)
class KeyCollector:
    """Keeps the hashes of wanted rows, and the rows themselves while they are few."""

    wanted: WantedRanges | WantedKeys
    keys: list[Hashes] = field(default_factory=list)
    rows: list[Hashes] = field(default_factory=list)
    data: list[pa.RecordBatch] | None = field(default_factory=list)
    _kept: int = 0
    _bytes: int = 0

    def add(self, block: ComparedRows) -> None:
        if not len(block.keys):
            return
        self.keys.append(block.keys)
        self.rows.append(block.rows)
        self._kept += len(block.keys)
        if self.data is not None and self._kept <= KEPT_ROWS_MAX:
            self.data.append(block.data)
            self._bytes += block.data.nbytes
        if self._kept > KEPT_ROWS_MAX or self._bytes > KEPT_BYTES_MAX:
            self.data = None

    def states(self) -> KeyStates:
        return KeyStates.of(*self._hashes())

    def kept(self) -> KeptRows | None:
        """The rows; None if they were too many."""
        return None if self.data is None else KeptRows(self._hashes()[0], tuple(self.data))

    def _hashes(self) -> tuple[Hashes, Hashes]:
        none = [np.zeros(0, np.uint64)]
        return np.concatenate(self.keys or none), np.concatenate(self.rows or none)


@dataclass(frozen=True, slots=True, eq=False)
class KeptRows:
    """Rows of one side, with the hash of each one's key."""

    keys: Hashes
    data: tuple[pa.RecordBatch, ...]

    def first(self, key: Any) -> pa.RecordBatch | None:
        """The first row of a key."""
        (found,) = np.nonzero(self.keys == key)
        if not len(found):
            return None
        at = int(found[0])
        for batch in self.data:
            if at < batch.num_rows:
                return batch.slice(at, 1)
            at -= batch.num_rows
        raise AssertionError("each hash belongs to a row")


@dataclass(frozen=True, slots=True, eq=False)
class KeyLook:
    """A look at some keys, with the rows of both sides while they are few."""

    look: Look
    source: KeptRows | None
    target: KeptRows | None


@dataclass(frozen=True, slots=True)
class BothSides:
    """The readers of one comparison: several sources may share a target."""

    source: tuple[ReadingPath, ...]
    target: ReadingPath

    def digests(self, progress: Progress) -> tuple[DigestCollector, DigestCollector]:
        """Read all rows of both sides."""
        return self._read(DigestCollector(), DigestCollector(), progress)

    def keys(self, wanted: WantedRanges | WantedKeys, clock: Callable[[], float], progress: Progress) -> KeyLook:
        """Look at the rows of some keys."""
        began = clock()
        source, target = self._read(KeyCollector(wanted), KeyCollector(wanted), progress)
        return KeyLook(Look(began, clock(), source.states(), target.states()), source.kept(), target.kept())

    def _read(self, source: CollectorT, target: CollectorT, progress: Progress) -> tuple[CollectorT, CollectorT]:
        stopped = threading.Event()
        with ThreadPoolExecutor(2, "reconcile") as threads:
            sides = [
                threads.submit(_collect, self.source, source, stopped, lambda rows: progress("source", rows)),
                threads.submit(_collect, (self.target,), target, stopped, lambda rows: progress("target", rows)),
            ]
            try:
                for side in sides:
                    side.result()
            finally:
                stopped.set()
        return source, target


def _collect(
    paths: Iterable[ReadingPath] | Sequence[ReadingPath], into: RowCollector, stopped: threading.Event,
    progress: Callable[[int], None],
) -> None:  # fmt: skip
    rows = 0
    try:
        for path in paths:
            for block in path.blocks(into.wanted):
                if stopped.is_set():
                    return
                into.add(block)
                rows += block.read
                progress(rows)
    except BaseException:
        stopped.set()  # the other side need not read on
        raise
