"""Finds where row images begin, and where each of their cells does.

An image is a bitmap of nulls over the columns that are present, then their values. The length of an image depends on
its values: an image begins at the end of the one before. So the events of a block are followed in parallel, image by
image; all cells are then addressed at a time, a column after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seatunnel_connectors.jdbc.mysql.read.cells import CellBlock, Flags, Ints, RowCells, Words
from seatunnel_connectors.mysql_cdc.failures import BinlogFormatError
from seatunnel_connectors.mysql_cdc.log.column_types import ColumnStorage

_LENGTH_WORDS = {1: "<u1", 2: "<u2", 3: "<u4", 4: "<u4"}


@dataclass(frozen=True, slots=True)
class FixedRun:
    """Columns of fixed width in a row, within one byte of the null bitmap: ``widths[b]`` is the width of those that are
    there when that byte is b. ``variable`` is the number of the column after them, -1 if there is none."""

    columns: tuple[int, ...]
    whole: int
    byte: int
    widths: Ints
    variable: int


class ImageLayout:
    """The columns of an image, in order: ``columns`` are those that are present, of all columns of the table."""

    def __init__(self, storages: Sequence[ColumnStorage], present: bytes) -> None:
        self.columns = tuple(i for i in range(len(storages)) if present[i >> 3] >> (i & 7) & 1)
        self.storages = tuple(storages[i] for i in self.columns)
        self.null_bytes = (len(self.columns) + 7) // 8
        self.runs = tuple(_runs(self.storages))
        self.fixed = all(one.variable < 0 for one in self.runs)
        self.width = self.null_bytes + sum(one.width for one in self.storages)
        """Of an image without nulls, if no column is variable."""

    # ------------------------------------------------------------ one image after the other

    def ends(self, block: CellBlock, starts: Ints) -> Ints:
        """The end of each image that begins at ``starts``."""
        nulls = self._nulls(block, starts)
        at = starts + self.null_bytes
        for run in self.runs:
            at = at + (run.widths[_byte(nulls, run.byte)] if nulls else run.whole)
            if run.variable >= 0:
                size = self.storages[run.variable].length_bytes
                step = _lengths(block, at, size) + size
                at = at + (np.where(_is_null(nulls, run.variable), 0, step) if nulls else step)
        return at

    def end(self, data: bytes, start: int) -> int:
        """The end of one image."""
        at = start + self.null_bytes
        for run in self.runs:
            at += int(run.widths[data[start + run.byte]]) if run.columns else 0
            column = run.variable
            if column >= 0 and not data[start + (column >> 3)] >> (column & 7) & 1:
                size = self.storages[column].length_bytes
                at += size + int.from_bytes(data[at : at + size], "little")
        return at

    def clean(self, block: CellBlock, starts: Ints) -> bool:
        """True if no image has a null."""
        return not self._nulls(block, starts)

    # ------------------------------------------------------------ all cells of a column

    def cells(self, block: CellBlock, starts: Ints) -> list[RowCells]:
        """The cells of each column of the images, which begin at ``starts``."""
        nulls = self._nulls(block, starts)
        at = starts + self.null_bytes
        found = []
        for number, storage in enumerate(self.storages):
            valid: Flags | None = None
            if nulls:
                null = _is_null(nulls, number)
                valid = ~null if null.any() else None
            if storage.width:
                found.append(RowCells(block, at, valid, storage.width))
                at = at + (storage.width if valid is None else np.where(valid, storage.width, 0))
                continue
            size = storage.length_bytes
            lengths = _lengths(block, at, size)
            begin = at + size
            if valid is not None:
                lengths = np.where(valid, lengths, 0)
                begin = np.where(valid, begin, at)
            found.append(RowCells(block, begin, valid, 0, lengths))
            at = begin + lengths
        return found

    def _nulls(self, block: CellBlock, starts: Ints) -> list[Words]:
        """The null bits of each image, in words of 64 columns; nothing if no bit is set."""
        words: list[Words] = []
        seen = False
        for first in range(0, len(self.columns), 64):
            used = min(64, len(self.columns) - first)
            word: Words = block.words("<u8", starts + first // 8) & np.uint64((1 << used) - 1)
            seen = seen or bool(word.any())
            words.append(word)
        return words if seen else []


def _runs(storages: Sequence[ColumnStorage]) -> list[FixedRun]:
    """Cut the columns after each variable one, and where the null bitmap begins another byte."""
    found: list[FixedRun] = []
    fixed: list[int] = []
    for number, storage in enumerate(storages):
        variable = not storage.width
        if not variable:
            fixed.append(number)
        last = number + 1 == len(storages)
        if variable or last or (number + 1) % 8 == 0:
            found.append(_run(storages, tuple(fixed), number if variable else -1))
            fixed = []
    return found


def _run(storages: Sequence[ColumnStorage], fixed: tuple[int, ...], variable: int) -> FixedRun:
    widths = np.zeros(256, np.int64)
    for column in fixed:
        there = (np.arange(256) >> (column & 7) & 1) == 0
        widths += np.where(there, storages[column].width, 0)
    byte = fixed[0] >> 3 if fixed else 0
    return FixedRun(fixed, sum(storages[i].width for i in fixed), byte, widths, variable)


def _byte(nulls: list[Words], number: int) -> Any:
    return (nulls[number >> 3] >> np.uint64(8 * (number & 7)) & np.uint64(255)).astype(np.int64)


def _is_null(nulls: list[Words], column: int) -> Flags:
    return (nulls[column >> 6] >> np.uint64(column & 63) & np.uint64(1)).astype(np.bool_)


def _lengths(block: CellBlock, at: Ints, size: int) -> Ints:
    words: Ints = block.words(_LENGTH_WORDS[size], at).astype(np.int64)
    return words & ((1 << 24) - 1) if size == 3 else words


_FOLLOWED_APART = 24
"""With fewer events than this, a loop over their images costs less than operations on short arrays."""


def image_starts(
    block: CellBlock, starts: Ints, ends: Ints, layouts: Sequence[ImageLayout], what: str
) -> tuple[Ints, Ints]:
    """The start of each image, event by event, and the number of images of each event.

    ``starts`` and ``ends`` are those of the events' images. Images take turns among ``layouts``.
    """
    if not any(one.null_bytes for one in layouts):
        raise BinlogFormatError(f"{what} has rows without any column: their number is unknown")
    try:
        if len(starts) < _FOLLOWED_APART:
            return _apart(block, starts.tolist(), ends.tolist(), layouts, what)
        return _together(block, starts, ends, layouts, what)
    except IndexError:
        raise BinlogFormatError(f"{what} ends in the middle of a row") from None


def _together(
    block: CellBlock, starts: Ints, ends: Ints, layouts: Sequence[ImageLayout], what: str
) -> tuple[Ints, Ints]:
    at, last = starts, ends
    events = np.arange(len(starts))
    rounds: list[tuple[Ints, Ints]] = []
    counts = np.zeros(len(starts), np.int64)
    while True:
        there = at < last
        if not there.all():
            at, last, events = at[there], last[there], events[there]
        if len(events) < _FOLLOWED_APART:
            break
        rounds.append((events, at))
        at = layouts[(len(rounds) - 1) % len(layouts)].ends(block, at)
        if (at > last).any():
            raise BinlogFormatError(f"{what} ends in the middle of a row")
        counts[events] += 1
    turn = len(rounds) % len(layouts)
    rest, rest_counts = _apart(block, at.tolist(), last.tolist(), [*layouts[turn:], *layouts[:turn]], what, turn)
    done = counts.copy()
    counts[events] += rest_counts
    firsts = np.cumsum(counts) - counts
    found = np.empty(int(counts.sum()), np.int64)
    for number, (some, places) in enumerate(rounds):
        found[firsts[some] + number] = places
    where = np.repeat(firsts[events] + done[events] - np.cumsum(rest_counts) + rest_counts, rest_counts)
    found[where + np.arange(len(rest))] = rest
    if len(layouts) > 1 and (counts % len(layouts)).any():
        raise BinlogFormatError(f"{what} has an update without its second image")
    return found, counts


def _apart(
    block: CellBlock, starts: list[int], ends: list[int], layouts: Sequence[ImageLayout], what: str, turn: int = 0
) -> tuple[Ints, Ints]:
    found: list[Any] = []
    counts = []
    data, turns = block.data, len(layouts)
    for start, end in zip(starts, ends, strict=True):
        layout = layouts[0]
        if turns == 1 and layout.fixed and (end - start) % layout.width == 0:
            strided = np.arange(start, end, layout.width, dtype=np.int64)
            if layout.clean(block, strided):
                found.append(strided)
                counts.append(len(strided))
                continue
        places = []
        at = start
        while at < end:
            places.append(at)
            at = layouts[(len(places) - 1) % turns].end(data, at)
        if at > end:
            raise BinlogFormatError(f"{what} ends in the middle of a row")
        if (len(places) + turn) % turns:
            raise BinlogFormatError(f"{what} has an update without its second image")
        found.append(np.array(places, np.int64))
        counts.append(len(places))
    joined = np.concatenate(found) if found else np.empty(0, np.int64)
    return joined, np.array(counts, np.int64)
