"""The conformance kit finds what is wrong with transforms, each in the property that its users would have relied on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from seatunnel_example import Double, DoubleFactory, DoubleOptions

from seatunnel_py.api import (
    BadRowsError,
    Batch,
    Cardinality,
    Column,
    Determinism,
    PrimaryKey,
    Rejected,
    StepContext,
    TablePath,
    TableSchema,
    Transform,
    TransformCapabilities,
    parse_type,
)
from seatunnel_py.testing import Report, TransformTarget, check_transform

TABLE = TableSchema(
    TablePath.parse("shop.orders"),
    (Column("id", parse_type("bigint"), nullable=False), Column("n", parse_type("bigint"))),
    PrimaryKey(("id",)),
)
ROWS = [(1, 10), (2, None), (3, 0), (4, -7), (5, 10)]
DOUBLED = [(1, 20), (2, None), (3, 0), (4, -14), (5, 20)]


def kept(batch: Batch, rows: pa.BooleanArray) -> Batch:
    """Some of its rows, with all that belongs to them."""
    kinds = None if batch.kinds is None else batch.kinds.filter(rows)
    metadata = {name: values.filter(rows) for name, values in batch.metadata.items()}
    return replace(batch, data=batch.data.filter(rows), kinds=kinds, metadata=metadata)


def with_column(batch: Batch, at: int, values: pa.Array) -> list[Batch]:
    return [replace(batch, data=batch.data.set_column(at, batch.data.schema.names[at], values))]


def refuses(batch: Batch, *, bad: bool) -> list[Batch]:
    if bad:
        raise BadRowsError("no")
    return [batch]


def rejects_nulls(batch: Batch) -> list[Batch | Rejected]:
    bad = batch.data.filter(pc.is_null(batch.data.column(1)))
    rest = kept(batch, pc.is_valid(batch.data.column(1)))
    return [rest, Rejected(batch.table, bad, ("it is null",) * bad.num_rows)]


def first_is_number(batch: Batch) -> list[Batch]:
    assert batch.data.column(1)[0] is not None
    return [batch]


TIMES = count()
FLAWS: dict[str, Callable[[Batch], Any]] = {
    "": lambda batch: [batch],
    "drops a row": lambda batch: [kept(batch, pa.array([place > 0 for place in range(batch.rows)], pa.bool_()))],
    "another type": lambda batch: with_column(batch, 1, batch.data.column(1).cast(pa.int32())),
    "another table": lambda batch: [replace(batch, table=TablePath.parse("shop.others"))],
    "forgets kinds": lambda batch: [replace(batch, kinds=None)],
    "forgets the rest": lambda batch: [Batch(batch.table, batch.data, batch.end, kinds=batch.kinds)],
    "forgets metadata": lambda batch: [replace(batch, metadata={})],
    "moves positions": lambda batch: [replace(batch, end=None)],
    "wants a row": first_is_number,
    "counts calls": lambda batch: with_column(batch, 1, pa.array([next(TIMES)] * batch.rows, pa.int64())),
    "sees its neighbours": lambda batch: with_column(batch, 1, pa.array([batch.rows] * batch.rows, pa.int64())),
    "refuses company": lambda batch: refuses(batch, bad=batch.rows > 1),
    "refuses a null": lambda batch: refuses(batch, bad=batch.data.column(1).null_count > 0),
    "rejects a null": rejects_nulls,
    "counts keys anew": lambda batch: with_column(batch, 0, pc.add(batch.data.column(0), 1)),
    "says nothing": lambda batch: None,
}


@dataclass(frozen=True)
class Odd(Double):
    """Doubles, and does then what ``flaw`` says."""

    flaw: str = ""

    def apply(self, batch: Batch) -> Iterable[Any]:
        (made,) = super().apply(batch)
        assert isinstance(made, Batch)
        return FLAWS[self.flaw](made)  # type: ignore[no-any-return]


class OddFactory(DoubleFactory):
    name = "Odd"

    def __init__(self, flaw: str, **able: Any) -> None:
        self.flaw, self.able = flaw, able

    def capabilities(self, options: DoubleOptions) -> TransformCapabilities:
        return TransformCapabilities(**{"keeps_keys": True, **self.able})

    def create(self, options: DoubleOptions, table: TableSchema, context: StepContext) -> Transform:
        return Odd(options.field, table, self.flaw)


def checked(flaw: str, *, wanted: Any = None, **able: Any) -> Report:
    return check_transform(TransformTarget(OddFactory(flaw, **able), {"field": "n"}, TABLE, ROWS, wanted))


def test_a_transform_that_keeps_its_promises_has_nothing_broken() -> None:
    """Every property is tried, for this one promises them all."""
    report = checked("", wanted=lambda: DOUBLED)

    assert not report.broken, report.text
    assert "not promised" not in report.text


@pytest.mark.parametrize("flaw", ["refuses a null", "rejects a null"])
def test_a_row_may_be_refused_by_itself(flaw: str) -> None:
    """As a whole batch that is searched, or named."""
    report = checked(flaw)

    assert not report.broken, report.text


ANNOUNCES, TOGETHER = "what comes out is what it announces", "kinds, metadata and positions stay with their rows"
CUT, BALANCE = "rows are the same however they are cut into batches", "no row is lost or made up"


@pytest.mark.parametrize(
    ("flaw", "broken", "why"),
    [
        ("drops a row", BALANCE, "5 rows went in, 4 came out and 0 were refused"),
        ("another type", ANNOUNCES, "n int32 instead of n int64"),
        ("another table", ANNOUNCES, "rows of shop.others, which neither output nor side_outputs announces"),
        ("says nothing", ANNOUNCES, "returns None where Batches belong"),
        ("forgets kinds", TOGETHER, "row 1 went in as -U and comes out as +I"),
        ("forgets the rest", TOGETHER, "comes out with the positions None"),
        ("forgets metadata", TOGETHER, "metadata of the batch are lost"),
        ("moves positions", TOGETHER, "instead of its own"),
        ("wants a row", "a batch without rows is accepted", "IndexError"),
        ("sees its neighbours", CUT, "one by one"),
        ("refuses company", CUT, "it refuses a batch, but none of its rows alone"),
        ("counts keys anew", "values of key columns are kept exactly, and no row comes twice", "another key: 2"),
    ],
)
def test_a_broken_promise_of_a_transform_is_named(flaw: str, broken: str, why: str) -> None:
    report = checked(flaw)

    found = {finding.property: finding.why for finding in report.broken}
    assert why in found.get(broken, ""), report.text


def test_rows_that_differ_each_time_are_found() -> None:
    """Unless that is declared."""
    assert "a batch that comes twice gives the same rows" in [one.property for one in checked("counts calls").broken]
    assert not checked("counts calls", determinism=Determinism.INDETERMINATE).broken


def test_rows_that_nobody_wanted_are_shown() -> None:
    """The side door of a transform is what people expect of it."""
    report = checked("counts keys anew", wanted=lambda: DOUBLED, keeps_keys=False)

    (found,) = report.broken
    assert found.property == "the rows are those that are wanted"
    assert found.why == "5 of them are missing, 5 others are there; the first: 1 | 20"


def test_a_step_that_declares_any_number_of_rows_may_drop_some() -> None:
    """Not as a promise of how many."""
    report = checked("drops a row", cardinality=Cardinality.ANY, determinism=Determinism.INDETERMINATE)

    assert not report.broken, report.text
    assert f"not promised {BALANCE}: it declares any number of rows" in report.text
