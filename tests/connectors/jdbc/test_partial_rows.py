"""Rows with absent cells in one block: folded, or in rounds, they do what they do one after the other."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_connectors.jdbc.target.partial_rows import PARTIAL, RowBlock, cleared, fold, one_by_one, row_block
from tests.connectors.jdbc.partial_history import Change, State, apply

NAMES = ("id", "part", "s", "n")
SCHEMA = pa.schema([("id", pa.int64()), ("part", pa.string()), ("s", pa.string()), ("n", pa.int64())])
KEY = [0, 1]

changes = st.builds(
    Change,
    st.sampled_from(["+I", "-U", "+U", "-D"]),
    st.tuples(
        st.integers(1, 3),
        st.sampled_from(["a", "b"]),
        st.none() | st.text("xyz", max_size=2),
        st.none() | st.integers(),
    ).map(lambda row: (row[0], row[1], row[2], None if row[3] is None else row[3] % 1000)),
    st.frozensets(st.sampled_from([2, 3])),
)


def block_of(rows: list[Change]) -> RowBlock:
    columns = [list(column) for column in zip(*(row.cells for row in rows), strict=True)] or [[]] * 4
    absent = [pa.array([at in row.absent for row in rows], pa.bool_()) for at in range(4)]
    data = cleared(
        pa.RecordBatch.from_arrays([pa.array(one, field.type) for one, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA),
        pa.RecordBatch.from_arrays(absent, names=list(NAMES)),
    )  # fmt: skip
    return row_block(data, pa.array([row.number for row in rows], pa.uint8()), absent)


def changes_of(block: RowBlock) -> list[Change]:
    masks = block.masks().to_pylist()
    rows = [tuple(row.values()) for row in block.data.to_pylist()]
    return [
        Change(
            "+U" if kind == PARTIAL else ("+I", "-U", "+U", "-D")[kind], row,
            frozenset(at for at, mark in enumerate(mask or "") if mark == "1"), partial=kind == PARTIAL,
        )
        for kind, row, mask in zip(block.kinds.tolist(), rows, masks, strict=True)
    ]  # fmt: skip


def there() -> State:
    """A target with some of the keys."""
    return {(1, "a"): [1, "a", "old", -1], (2, "b"): [2, "b", None, -2]}


@given(st.lists(changes, max_size=30))
def test_a_folded_block_has_the_effect_of_its_rows(rows: list[Change]) -> None:
    folded = fold(block_of(rows), KEY)

    one = changes_of(folded)
    assert apply(there(), one) == apply(there(), rows)
    assert apply({}, one) == apply({}, rows)
    keys = [change.cells[:2] for change in one]
    assert len(keys) == len(set(keys)), "a key occurs once"
    assert apply(there(), [*reversed(one)]) == apply(there(), rows), "the order of different keys does not matter"


@given(st.lists(changes, max_size=30))
def test_rounds_keep_the_order_of_a_key(rows: list[Change]) -> None:
    block = one_by_one(block_of(rows), KEY, only_partial=False)
    rounds = [changes_of(one) for one in block.each_round()]

    assert [change for one in rounds for change in one] == changes_of(block)
    state = there()
    for one in rounds:
        keys = [change.cells[:2] for change in one]
        assert len(keys) == len(set(keys)), "a key occurs once in a round"
        state = apply(state, [*reversed(one)])
    assert state == apply(there(), rows)


@given(st.lists(changes, max_size=30))
def test_keys_of_whole_rows_need_no_rounds(rows: list[Change]) -> None:
    block = one_by_one(block_of(rows), KEY, only_partial=True)

    partial = {row.cells[:2] for row in rows if row.absent and row.kind not in ("-U", "-D")}
    for number, one in enumerate(block.each_round()):
        found = changes_of(one)
        keys = [change.cells[:2] for change in found if change.cells[:2] in partial]
        assert len(keys) == len(set(keys))
        assert number == 0 or {change.cells[:2] for change in found} <= partial
    assert apply(there(), changes_of(block)) == apply(there(), rows)


def test_nested_values_stay_with_their_rows() -> None:
    """Lists, structs and maps are not computed, only taken from a row."""
    schema = pa.schema(
        [("id", pa.int64()), ("l", pa.list_(pa.int64())), ("m", pa.map_(pa.string(), pa.int64())), ("n", pa.int64())]
    )
    whole: dict[str, Any] = {"id": 1, "l": [1, 2], "m": [("a", 1)], "n": 1}
    data = pa.RecordBatch.from_pylist([whole, {"id": 1, "n": 2}], schema=schema)
    absent = pa.RecordBatch.from_pylist([{}, {"l": True, "m": True}], schema=pa.schema([(name, pa.bool_()) for name in schema.names]))  # fmt: skip

    block = row_block(cleared(data, absent), None, absent.columns)

    assert fold(block, [0]).data.to_pylist() == [{**whole, "n": 2}]
