"""Divides the rest of a copied table among its splits, whose snapshot is lost.

Rules. (1) The rest is read under another snapshot, and the log from the first one. An update may have moved a row
meanwhile, from blocks that were not read into blocks that were. Then no later split would have it, and the log may lack
its large values (TOAST). (2) So one of the splits also takes all rows written since the first snapshot, in any
block; the others take the older rows of their blocks. (3) In a table that was rewritten (ALTER TABLE, VACUUM FULL) any
row may be in any block: all its blocks are divided among the splits that are left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from seatunnel_connectors.jdbc.postgres.read.reader import MOVED_SINCE, UNMOVED_SINCE
from seatunnel_py.api import Split, TablePath

HIDDEN = "hidden"
"""Key of a split's payload: ``Keeper.oldest_hidden`` of its first snapshot."""
FILE = "file"
"""Key of a split's payload: the number of the file that held its table when its blocks were chosen."""


@dataclass(frozen=True, slots=True)
class TableFile:
    """The file of a table, and its size in blocks."""

    number: int
    blocks: int


def by_blocks(split: Split) -> bool:
    return "first" in split.payload


def renewed(splits: Sequence[Split], files: Mapping[TablePath, TableFile], hidden: int) -> list[Split]:
    """Those of the splits that are divided by blocks, under the present snapshot. ``files`` are those of their tables
    now; ``hidden`` is the oldest transaction that the snapshot does not show."""
    groups: dict[TablePath, list[Split]] = defaultdict(list)
    for split in filter(by_blocks, splits):
        groups[split.table].append(split)
    found: list[Split] = []
    for table, group in groups.items():
        file = files.get(table)
        is_rewritten = file is not None and any(one.payload.get(FILE, file.number) != file.number for one in group)
        found += _divided(group, file, hidden) if file is not None and is_rewritten else _with_moved(group)
    return found


def _divided(group: Sequence[Split], file: TableFile, hidden: int) -> list[Split]:
    """All blocks of the table, divided among the splits; the last one has no end."""
    step = max(1, -(-file.blocks // len(group)))
    return [
        _given(one, first=at * step, until=(at + 1) * step if at + 1 < len(group) else None, file=file.number,
               hidden=hidden)
        for at, one in enumerate(group)
    ]  # fmt: skip


def _with_moved(group: Sequence[Split]) -> list[Split]:
    """The same blocks; the first split takes the rows that were written since, too."""
    first, *others = group
    return [
        _given(first, **{MOVED_SINCE: first.payload[HIDDEN]}),
        *(_given(one, **{UNMOVED_SINCE: one.payload[HIDDEN]}) for one in others),
    ]


def _given(split: Split, **more: Any) -> Split:
    kept = {key: value for key, value in split.payload.items() if key not in (MOVED_SINCE, UNMOVED_SINCE)}
    return replace(split, payload={**kept, **more})
