"""Checksums of rows: of the same rows the same, however they come; of other rows another."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.api import Batch, Position, TablePath
from seatunnel_py.work.row_digest import RowDigest

X, Y = TablePath.parse("x"), TablePath.parse("y")
_short = st.text(max_size=3)
_TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "boolean": (pa.bool_(), st.booleans()),
    "int": (pa.int32(), st.integers(-9, 9)),
    "double": (pa.float64(), st.sampled_from([0.0, 1.5, float("inf")])),
    "decimal": (pa.decimal128(9, 2), st.sampled_from([Decimal("1.20"), Decimal("-3")])),
    "text": (pa.string(), _short),
    "long": (pa.large_string(), _short),
    "bytes": (pa.binary(), st.binary(max_size=3)),
    "fixed": (pa.binary(2), st.binary(min_size=2, max_size=2)),
    "time": (pa.timestamp("us", "UTC"), st.integers(0, 99)),
    "list": (pa.list_(pa.string()), st.lists(st.none() | _short, max_size=3)),
    "vector": (pa.list_(pa.float32(), 2), st.lists(st.sampled_from([0.5, 2.0]), min_size=2, max_size=2)),
    "map": (
        pa.map_(pa.string(), pa.int8()),
        st.dictionaries(_short, st.integers(0, 3), max_size=2).map(lambda found: list(found.items())),
    ),
    "row": (
        pa.struct({"a": pa.int8(), "b": pa.list_(pa.bool_())}),
        st.fixed_dictionaries(
            {"a": st.none() | st.integers(0, 3), "b": st.none() | st.lists(st.booleans(), max_size=2)}
        ),
    ),
    "coded": (pa.dictionary(pa.int8(), pa.string()), _short),
    "nothing": (pa.null(), st.none()),
    "odd": (pa.duration("s"), st.integers(0, 9)),
}
_rows = st.lists(
    st.fixed_dictionaries(
        {
            **{name: st.none() | values for name, (_, values) in _TYPES.items()},
            "kind": st.sampled_from([0, 0, 0, 1, 3]),
            "absent": st.sampled_from([False, False, True]),
        }
    ),
    max_size=12,
)


def batch(rows: Sequence[dict[str, Any]], *, bare: bool = False) -> Batch:
    """Where nothing is special, a source may say so or say nothing (``bare``)."""
    columns = [pa.array([row[name] for row in rows], kind) for name, (kind, _) in _TYPES.items()]
    data = pa.RecordBatch.from_arrays(columns, names=list(_TYPES))
    kinds, absent = [row["kind"] for row in rows], [row["absent"] for row in rows]
    return Batch(
        X,
        data,
        end=Position({"at": len(rows)}),
        kinds=None if bare and not any(kinds) else pa.array(kinds, pa.uint8()),
        absent=None if bare and not any(absent) else pa.RecordBatch.from_pydict({"int": pa.array(absent, pa.bool_())}),
        metadata={"Partition": pa.array([row["int"] for row in rows], pa.int32())},
    )


def crc(batches: Sequence[Batch]) -> int:
    contents = RowDigest()
    for one in batches:
        contents.add(one)
    return contents.crc(X)


@given(_rows, st.data())
def test_rows_are_the_same_however_they_were_cut_into_batches(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    """I22. Made so, or cut out of larger ones; a source need not say twice that nothing is special."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    bounds = list(zip([0, *cuts], [*cuts, len(rows)], strict=True))
    whole = batch(rows)

    made = [batch(rows[first:last], bare=True) for first, last in bounds]
    cut = [
        Batch(
            X,
            whole.data.slice(first, last - first),
            kinds=None if whole.kinds is None else whole.kinds.slice(first, last - first),
            absent=None if whole.absent is None else whole.absent.slice(first, last - first),
            metadata={name: values.slice(first, last - first) for name, values in whole.metadata.items()},
        )
        for first, last in bounds
    ]

    assert crc(made) == crc(cut) == crc([whole])


@given(_rows.filter(bool), st.data())
def test_another_cell_is_another_checksum(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(rows) - 1))
    name = data.draw(st.sampled_from([name for name in rows[at] if name != "nothing"]))
    strategy = _TYPES[name][1] if name in _TYPES else st.integers(0, 3) if name == "kind" else st.booleans()
    value = data.draw(strategy.filter(lambda value: value != rows[at][name]))

    other = [{**row, name: value} if number == at else row for number, row in enumerate(rows)]

    assert crc([batch(other)]) != crc([batch(rows)])


@given(_rows)
def test_a_row_more_and_rows_in_another_order_are_others(rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    assert crc([batch([*rows, rows[-1]])]) != crc([batch(rows)])
    turned = [{**row, "int": number} for number, row in enumerate([*rows, *rows])]
    assert crc([batch(turned[::-1])]) != crc([batch(turned)])


def test_tables_of_a_channel_have_a_checksum_each() -> None:
    """One may give rows between those of another."""
    one, other = (pa.RecordBatch.from_pydict({"id": [number]}) for number in (1, 2))
    contents, apart = RowDigest(), RowDigest()
    for table, data in ((X, one), (Y, other), (X, other)):
        contents.add(Batch(table, data))
    for data in (one, other):
        apart.add(Batch(X, data))

    assert contents.crc(X) == apart.crc(X) != contents.crc(Y)
