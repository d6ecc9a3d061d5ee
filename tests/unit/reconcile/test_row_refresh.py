"""A refresh brings exactly its keys to the rows of the source, whatever the condition finds on either side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatunnel_py.api import (
    STRING,
    Batch,
    Column,
    DataType,
    FatalError,
    Kind,
    Piece,
    PrimaryKey,
    RowKind,
    RowSelection,
    SourceTable,
    Split,
    TablePath,
    TableSchema,
    Writer,
)
from seatunnel_py.plan.tables.table_refresh import RefreshWish
from seatunnel_py.reconcile.key_rows import deletions
from seatunnel_py.reconcile.looks import WantedKeys
from seatunnel_py.reconcile.row_hashes import combined, value_hashes
from seatunnel_py.reconcile.row_refresh import TargetRefresh, refresh_sides
from seatunnel_py.reconcile.side_reader import source_paths
from tests.unit.reconcile.both_sides import SCHEMA, ListedRows, comparison

ROWS = st.dictionaries(st.integers(0, 30), st.tuples(st.sampled_from(["in", "out"]), st.none() | st.just("x")))
SPLIT = (Split("whole", SCHEMA.path),)


@dataclass(frozen=True)
class ChosenRows(ListedRows):
    """Rows that can be chosen by a condition on the note, or by values of the key."""

    def filtered(self, table: SourceTable, rows: RowSelection) -> SourceTable | None:
        return replace(table, hints={"note": rows.condition, "ids": list(rows.values) if rows.column else None})

    def reader(self, table: SourceTable) -> Any:
        hints: Any = table.hints
        wanted, ids = hints.get("note"), hints.get("ids")
        rows = [row for row in self.rows() if not wanted or row[1] == wanted]
        chosen = [row for row in rows if ids is None or str(row[0]) in ids]
        return ListedRows.reader(ListedRows(lambda: chosen, self.size), table)


class KeptRows(Writer):
    """A target in memory: removals come before rows, and both take effect together."""

    def __init__(self, rows: dict[int, tuple[Any, ...]]) -> None:
        self.rows, self.changed = rows, dict(rows)
        self.kinds: list[RowKind] = []
        self.ended = ""

    def write(self, batch: Batch) -> None:
        assert batch.kinds is not None
        for row, kind in zip(batch.data.to_pylist(), batch.kinds.to_pylist(), strict=True):
            self.kinds.append(RowKind(kind))
            if kind == RowKind.DELETE:
                del self.changed[row["id"]]
            else:
                self.changed[row["id"]] = (row["note"], row["part"])

    def stage(self) -> Piece:
        self.ended, self.rows = "staged", self.changed
        return Piece(len(self.kinds))

    def abort(self) -> None:
        self.ended = "aborted"


def refresh(source: dict[int, Any], target: dict[int, Any], wish: RefreshWish) -> tuple[KeptRows, tuple[int, int]]:
    writer = KeptRows(target)
    sides = comparison(
        ChosenRows(lambda: [(key, *values) for key, values in source.items()], 3),
        ChosenRows(lambda: [(key, *values) for key, values in target.items()], 2),
    )
    readers = refresh_sides(sides, source_paths(sides)[0], wish)
    return writer, TargetRefresh(readers, SPLIT, wish, lambda _: None).into(SCHEMA, lambda: writer)


def hashes(keys: set[int]) -> frozenset[int]:
    import pyarrow as pa

    found = combined([value_hashes(pa.array(sorted(keys), pa.int64()))], len(keys))
    return frozenset(map(int, found))


@settings(max_examples=150, deadline=None)
@given(ROWS, ROWS)
def test_a_condition_takes_the_keys_of_both_sides(source: dict[int, Any], target: dict[int, Any]) -> None:
    writer, (written, removed) = refresh(source, target, RefreshWish("r", "shop.orders", "in"))
    keys = {key for side in (source, target) for key, row in side.items() if row[0] == "in"}
    assert writer.rows == {key: row for key, row in target.items() if key not in keys} | {
        key: source[key] for key in keys if key in source
    }
    assert written == len(keys & source.keys()) and removed == len((keys & target.keys()) - source.keys())
    assert writer.kinds == sorted(writer.kinds, key=lambda kind: kind is not RowKind.DELETE)


@settings(max_examples=100, deadline=None)
@given(ROWS, ROWS, st.sets(st.integers(0, 30), min_size=1), st.booleans())
def test_listed_keys_are_the_only_ones(
    source: dict[int, Any], target: dict[int, Any], keys: set[int], looked_up: bool
) -> None:
    """``values`` may find other rows too."""
    values = tuple(map(str, {*keys, 4, 5})) if looked_up else ()
    wish = RefreshWish("r", "shop.orders", column="id" if looked_up else "", values=values, keys=hashes(keys))
    writer, _ = refresh(source, target, wish)
    assert writer.rows == {key: row for key, row in target.items() if key not in keys} | {
        key: source[key] for key in keys if key in source
    }


def test_a_whole_table() -> None:
    writer, counts = refresh({1: ("a", None)}, {1: ("b", None), 2: ("c", None)}, RefreshWish("r", "shop.orders"))
    assert (writer.rows, counts) == ({1: ("a", None)}, (1, 1))


def test_a_failure_changes_nothing() -> None:
    class Refusing(KeptRows):
        def write(self, batch: Batch) -> None:
            raise FatalError("no")

    sides = comparison(ChosenRows(lambda: [(1, "a", None)]), ChosenRows(lambda: [(2, "a", None)]))
    writer = Refusing({2: ("a", None)})
    wish = RefreshWish("r", "shop.orders")
    readers = refresh_sides(sides, source_paths(sides)[0], wish)
    with pytest.raises(FatalError, match="no"):
        TargetRefresh(readers, SPLIT, wish, lambda _: None).into(SCHEMA, lambda: writer)
    assert (writer.ended, writer.rows) == ("aborted", {2: ("a", None)})


def test_rows_that_cannot_be_read_refuse_a_refresh() -> None:
    """They would be taken for rows that are not there."""
    wish = RefreshWish("r", "shop.orders")
    for source, target in ((1, 0), (0, 1)):
        sides = comparison(ListedRows(list, unreadable=source), ListedRows(list, unreadable=target))
        readers = refresh_sides(sides, source_paths(sides)[0], wish)
        with pytest.raises(FatalError, match="cannot be read"):
            TargetRefresh(readers, SPLIT, wish, lambda _: None).into(SCHEMA, lambda: KeptRows({}))


def test_a_removal_has_the_types_of_the_sink() -> None:
    """The target may keep a key in a wider type."""
    import pyarrow as pa

    schema = TableSchema(
        TablePath.parse("shop.orders"),
        (Column("id", DataType(Kind.INT), nullable=False), Column("note", STRING, nullable=False)),
        PrimaryKey(("id",)),
    )
    sides = comparison(ListedRows(list), ListedRows(list))  # whose key is a BIGINT
    keys = pa.RecordBatch.from_pydict({"id": pa.array([4, 5, 6], pa.int64())})
    wanted = WantedKeys(combined([value_hashes(keys.column("id"))], 3)[1:2])
    found = deletions(schema, sides, keys, wanted)
    assert found.data.to_pylist() == [{"id": 5, "note": None}]
    assert found.data.schema.field("id").type == pa.int32() and found.kinds.to_pylist() == [RowKind.DELETE]
