"""Plugins of the simple tier: ordinary plugins, exact or refused."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date, datetime
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from seatunnel_py.api import (
    BadRowsError,
    Batch,
    DataType,
    Determinism,
    FatalError,
    Guarantee,
    Kind,
    Position,
    SimpleSink,
    SimpleSource,
    SinkOptions,
    Split,
    StepContext,
    WriteContext,
    option,
    parse_type,
    simple_sink,
    simple_source,
    simple_table,
)
from seatunnel_py.api.simple import sink as simple_sinks
from seatunnel_py.plan.plugins.registry import PluginEntry, PluginKind, Registry
from seatunnel_py.testing import run_job

TABLE = simple_table("t", {"id": "bigint"}, key=["id"])
NESTED = DataType(Kind.ROW, fields=(("a", parse_type("int")),))
NOON = datetime.fromisoformat("2026-01-01T12:00:00")
CONTEXT = WriteContext("job", "lineage", "sink", "rows")


class Given(SimpleSource):
    """Yields what the test says."""

    name = "Given"
    columns: ClassVar = {"id": "bigint", "day": "date", "at": "timestamp", "list": "array<int>", "nested": NESTED}
    items: ClassVar[list[Any]] = []
    twice: bool = option(False, doc="yields everything two times")

    def read(self, split: Split, start: Position | None) -> Iterable[Any]:
        return self.items * (2 if self.twice else 1)


class Kept(SimpleSink):
    """Keeps the batches."""

    name = "Kept"
    written: ClassVar[list[Batch]] = []

    def check(self, batch: Batch) -> None:
        if 13 in batch.data.column("id").to_pylist():
            raise BadRowsError("13 is refused")

    def write(self, batches: Iterator[Batch], context: WriteContext) -> None:
        self.written.extend(batches)


@pytest.fixture(autouse=True)
def _empty() -> None:
    Given.items.clear()
    Kept.written.clear()


def elements(items: list[Any], **options: Any) -> list[Any]:
    Given.items.extend(items)
    source = pickle.loads(pickle.dumps(Given().create(Given.options(**options), StepContext("s"))))
    (table,) = source.tables()
    (split,) = source.enumerator([table], None).discover()
    return list(source.reader(table).read(split, None))


def batch(*ids: int, **more: Any) -> Batch:
    return Batch(TABLE.path, pa.record_batch([pa.array(ids, pa.int64())], schema=TABLE.arrow()), **more)


def writer(context: WriteContext = CONTEXT) -> Any:
    return Kept().create(SinkOptions(), TABLE, StepContext("sink")).open(context)


def test_rows_and_batches_come_in_their_order() -> None:
    arrow = pa.record_batch({"id": pa.array([2], pa.int64())})

    found = elements([{"id": 1}, arrow, pa.table(arrow), {"id": 3}])

    assert [one.data.column("id").to_pylist() for one in found] == [[1], [2], [2], [3]]
    assert len(elements([{"id": 1}] * 1000, twice=True)) >= 2


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"idd": 1}, "'idd', which is not a column"),
        ({"id": 1.5}, "column 'id'"),
        ({"id": 2**63}, "column 'id'"),
        ({"day": NOON}, "column 'day'"),
        ({"at": datetime.fromisoformat("2026-01-01T12:00:00+02:00")}, "column 'at'"),
        ({"list": [1, 2.5]}, "column 'list'"),
        ({"nested": {"a": 1, "unknown": 2}}, "column 'nested'"),
        ("text", "Given yields a str"),
    ],
)
def test_what_a_column_does_not_hold_is_refused(row: Any, why: str) -> None:
    with pytest.raises(FatalError) as refused:
        elements([row])

    assert why in refused.value.message


def test_rows_come_as_they_were_yielded() -> None:
    row = {"id": 1, "day": date(2026, 1, 1), "at": NOON, "list": [1, None], "nested": {"a": None}}

    (found,) = elements([row, {"id": 2.0}])

    assert found.data.to_pylist() == [row, {**dict.fromkeys(row), "id": 2}]


def test_a_unit_is_written_when_all_of_it_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """In memory, or from a file, with everything that belongs to a batch."""
    monkeypatch.setattr(simple_sinks, "MEMORY_BYTES_MAX", 10)
    given = [batch(1, 2, end=Position({"at": 2})), batch(3, kinds=pa.array([0], pa.uint8()))]
    open_writer = writer()
    for one in given:
        open_writer.write(one)
    assert not Kept.written

    piece = open_writer.stage()

    assert (piece.rows, Kept.written) == (3, given)


def test_changes_are_refused_where_the_class_does_not_take_them() -> None:
    opened = writer()
    with pytest.raises(FatalError, match="inserts only"):
        opened.write(batch(1, kinds=pa.array([3], pa.uint8())))
    with pytest.raises(FatalError, match="whole rows"):
        opened.write(batch(1, absent=pa.record_batch({"id": [True]})))
    opened.abort()


def test_bad_rows_are_found_before_anything_is_written() -> None:
    trial = writer(replace(CONTEXT, trial=True))
    trial.write(batch(1))
    with pytest.raises(BadRowsError):
        trial.write(batch(13))
    trial.abort()
    assert not Kept.written


def test_bad_rows_of_a_job_are_set_aside() -> None:
    Given.items.extend({"id": n} for n in (12, 13, 14))

    run = run_job("env { error.max-rows = 1 }\nsource { Given {} }\nsink { Kept {} }", [Given, Kept])

    assert run.receipt.exit_code in (0, 1, 2), run.traces
    assert [n for one in Kept.written for n in one.data.column("id").to_pylist()] == [12, 14]


def test_an_option_with_the_name_of_an_attribute_is_refused() -> None:
    for wanted in ("name", "columns", "read", "summary"):
        with pytest.raises(TypeError, match=f"option\\(key='{wanted}'\\)"):
            type("Wrong", (SimpleSource,), {"__annotations__": {wanted: str}})
    with pytest.raises(TypeError, match="table"):
        type("Wrong", (SimpleSink,), {"options": type("O", (SinkOptions,), {"__annotations__": {"table": str}})})


def test_guarantees_are_declared_honestly() -> None:
    assert Given().capabilities(None, StepContext("s")).determinism is Determinism.INDETERMINATE
    assert Kept().capabilities(None, TABLE, StepContext("s")).guarantee is Guarantee.AT_LEAST_ONCE
    with pytest.raises(TypeError, match="subclass Sink"):
        type("Wrong", (SimpleSink,), {"guarantee": Guarantee.TWO_PHASE_COMMIT})
    with pytest.raises(TypeError, match="`why`"):
        type("Wrong", (SimpleSink,), {"guarantee": Guarantee.IDEMPOTENT})


def test_options_of_a_parent_are_those_of_its_child() -> None:
    child = type("Child", (Given,), {"__annotations__": {"more": int}, "more": option(3)})

    assert {"twice", "more", "parallelism"} <= set(child.options.model_fields)


def test_a_parameter_without_a_type_is_refused() -> None:
    with pytest.raises(TypeError, match="'upto' is an option"):
        simple_source("Wrong", columns={"n": "bigint"})(lambda upto: [])
    with pytest.raises(TypeError, match="'rest' is an option"):
        simple_sink("Wrong")(lambda batches, *rest: None)


def test_the_registry_takes_a_class_of_the_simple_tier() -> None:
    """From an entry point, or from the hook."""
    entries = (
        PluginEntry(PluginKind.SOURCE, "Given", "here", factory=Given),
        PluginEntry(PluginKind.SINK, "Kept", "here", factory=Kept),
    )

    registry = Registry(entries)

    assert isinstance(registry.factory(PluginKind.SOURCE, "given"), Given)
    assert isinstance(registry.factory(PluginKind.SINK, "Kept"), Kept)
