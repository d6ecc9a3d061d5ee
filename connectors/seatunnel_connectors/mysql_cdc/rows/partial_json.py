"""Follows the images of partial JSON updates: a row's second image marks each document as whole or as differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seatunnel_connectors.jdbc.mysql.read.cells import CellBlock, Flags, Ints, RowCells
from seatunnel_connectors.mysql_cdc.failures import BinlogFormatError
from seatunnel_connectors.mysql_cdc.log.byte_reader import ByteReader
from seatunnel_connectors.mysql_cdc.log.column_types import BinlogType
from seatunnel_connectors.mysql_cdc.rows.image_layout import ImageLayout
from seatunnel_connectors.mysql_cdc.rows.json_binary import JsonTree, json_text, json_tree
from seatunnel_connectors.mysql_cdc.rows.json_diff import apply_diffs

_PARTIAL = 1


@dataclass(frozen=True, slots=True)
class PartialImages:
    """``starts`` and ``counts`` are those of images; ``partial`` holds for each JSON column, by its number, which of
    the second images hold differences; ``first`` the cells of the first images' documents."""

    starts: Ints
    counts: Ints
    partial: dict[int, Flags]
    first: dict[int, RowCells]

    def has(self, column: int) -> bool:
        return column in self.partial and bool(self.partial[column].any())

    def documents(self, column: int, cells: RowCells, before: pa.Array | None) -> pa.Array:
        """The documents after the updates."""
        if before is None:
            raise BinlogFormatError("a partial JSON update comes without the document before it")
        partial = self.partial[column].tolist()
        texts: list[str | None] = []
        for value, old, differs in zip(cells.values(), self.first[column].values(), partial, strict=True):
            if value is None:
                texts.append(None)
                continue
            if differs and old is None:
                raise BinlogFormatError("a partial JSON update comes without the document before it")
            tree: JsonTree = apply_diffs(json_tree(old or b""), value) if differs else json_tree(value)
            texts.append(json_text(tree))
        return pa.array(texts, pa.string())


def partial_images(
    block: CellBlock, starts: Ints, ends: Ints, layouts: Sequence[ImageLayout], what: str
) -> PartialImages:
    """Follow the events one image after the other: such updates are rare."""
    before, after = layouts
    documents = _documents(before, after)
    found: list[int] = []
    counts: list[int] = []
    flags: dict[int, list[bool]] = {column: [] for column in documents}
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        at, count = start, 0
        while at < end:
            found.append(at)
            reader = ByteReader(block.data, what, before.end(block.data, at), end)
            options = reader.lenenc()
            if options & ~_PARTIAL:
                raise BinlogFormatError(f"{what} has the unknown options {options}")
            marks = reader.unsigned((len(documents) + 7) // 8) if options & _PARTIAL else 0
            for bit, column in enumerate(documents):
                flags[column].append(bool(marks >> bit & 1))
            found.append(reader.at)
            at = after.end(block.data, reader.at)
            count += 2
        if at > end:
            raise BinlogFormatError(f"{what} ends in the middle of a row")
        counts.append(count)
    all_starts = np.array(found, np.int64)
    first = dict(zip(before.columns, before.cells(block, all_starts[0::2]), strict=True))
    partial = {column: np.array(flags[column], np.bool_) for column in documents if column in first}
    for column, some in flags.items():
        if column not in partial and any(some):
            raise BinlogFormatError("a partial JSON update comes without the document before it")
    return PartialImages(all_starts, np.array(counts, np.int64), partial, {one: first[one] for one in partial})


def _documents(before: ImageLayout, after: ImageLayout) -> list[int]:
    """The JSON columns of the table, each of which has a mark whether it is present or not."""
    storages = dict(zip(before.columns, before.storages, strict=True))
    storages.update(zip(after.columns, after.storages, strict=True))
    return sorted(column for column, one in storages.items() if one.type is BinlogType.JSON)
