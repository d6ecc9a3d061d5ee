"""Histories of changes in PostgreSQL end in the last row of each key, whatever the server takes for the same key."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatunnel_connectors.jdbc.postgres.write import copy_loader
from seatunnel_py.api import Batch, TablePath, TableSchema, WriteContext, schema_from_arrow
from tests.connectors.jdbc.conftest import PostgresPlace
from tests.connectors.jdbc.copying import make_sink

pytestmark = pytest.mark.postgres

KINDS = ("+I", "-U", "+U", "-D")
CARELESS = "CREATE COLLATION b.careless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
Key = tuple[Any, ...]
Change = tuple[str, Key, str]


@dataclass(frozen=True)
class KeyType:
    """Columns of a key: at the target, upstream, some keys, and the same thing for equal ones."""

    target: tuple[str, ...]
    arrow: tuple[pa.DataType, ...]
    keys: tuple[Key, ...]
    same: Callable[[Key], Hashable]

    def schema(self) -> TableSchema:
        fields = [pa.field(f"k{at}", kind, nullable=False) for at, kind in enumerate(self.arrow)]
        return schema_from_arrow(TablePath("db", "up", "t"), pa.schema([*fields, pa.field("v", pa.string())]))

    def names(self) -> list[str]:
        return [f"k{at}" for at in range(len(self.arrow))]


TYPES = {
    "bigint": KeyType(("bigint",), (pa.int64(),), ((1,), (2,), (3,)), lambda key: key),
    "wider": KeyType(("bigint",), (pa.int32(),), ((1,), (2,), (3,)), lambda key: key),
    "two columns": KeyType(
        ("bigint", "date"), (pa.int64(), pa.date32()), tuple((n, day) for n in (1, 2) for day in (0, 9)), lambda key: key
    ),
    "letter case": KeyType(
        ("text COLLATE b.careless",), (pa.string(),), (("a",), ("A",), ("b",)), lambda key: key[0].lower()
    ),
    "scale": KeyType(
        ("numeric",), (pa.decimal128(10, 2),), ((Decimal("1.00"),), (Decimal("1.10"),)), lambda key: key
    ),
}  # fmt: skip


def batches(keys: KeyType) -> st.SearchStrategy[list[list[Change]]]:
    change = st.tuples(st.sampled_from(KINDS), st.sampled_from(keys.keys), st.sampled_from("xyz"))
    return st.lists(st.lists(change, min_size=1, max_size=8), min_size=1, max_size=4)


def made(schema: TableSchema, changes: list[Change]) -> Batch:
    columns = [*zip(*[[*key, value] for _, key, value in changes], strict=True)]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema.arrow(), strict=True)]
    kinds = pa.array([KINDS.index(kind) for kind, _, _ in changes], pa.uint8())
    return Batch(schema.path, pa.RecordBatch.from_arrays(arrays, schema=schema.arrow()), kinds=kinds)


def opened(pg: PostgresPlace, keys: KeyType) -> Any:
    """A writer into the table b.t."""
    sink, _ = make_sink(pg.sink(table="b.t", primary_keys=keys.names()), keys.schema())
    setup = sink.plan_setup()
    sink.setup(setup)
    return sink.open(WriteContext("job", "lin", "sink", "u@", setup=setup.data))


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("block_bytes", [1, copy_loader.BLOCK_BYTES])
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_history_ends_in_the_last_row_of_each_key(
    pg: PostgresPlace, monkeypatch: pytest.MonkeyPatch, name: str, block_bytes: int, data: st.DataObject
) -> None:
    monkeypatch.setattr(copy_loader, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(copy_loader, "EARLY_BYTES", block_bytes)
    keys = TYPES[name]
    history = data.draw(batches(keys))
    pg.db.execute(b"DROP SCHEMA b CASCADE; CREATE SCHEMA b")
    pg.db.execute(CARELESS.encode())
    columns = ", ".join(f"{one} {kind}" for one, kind in zip(keys.names(), keys.target, strict=True))
    pg.db.execute(f"CREATE TABLE b.t ({columns}, v text, PRIMARY KEY ({', '.join(keys.names())}))".encode())

    writer = opened(pg, keys)
    for changes in history:
        writer.write(made(keys.schema(), changes))
    writer.stage()

    wanted: dict[Hashable, tuple[Any, ...]] = {}
    for kind, key, value in (change for changes in history for change in changes):
        if kind in ("+I", "+U"):
            wanted[keys.same(key)] = (*key, value)
        elif kind == "-D":
            wanted.pop(keys.same(key), None)
    found = pg.rows(f"SELECT {', '.join(keys.names())}, v FROM b.t")
    assert len(found) == len(wanted)
    assert set(found) == {_read(row) for row in wanted.values()}


def _read(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row as it is read: a number of days is a date."""
    return (row[0], date(1970, 1, 1) + timedelta(row[1]), row[2]) if len(row) == 3 else row


@pytest.mark.parametrize("kind", KINDS[::2])
def test_rows_may_refer_to_a_row_that_is_being_updated(pg: PostgresPlace, kind: str) -> None:
    """An update that leaves the key alone takes no lock against foreign keys."""
    pg.db.execute(
        "CREATE TABLE b.t (k0 bigint PRIMARY KEY, v text); INSERT INTO b.t VALUES (1, 'old');"
        "CREATE TABLE b.child (k0 bigint REFERENCES b.t)"
    )
    keys = TYPES["bigint"]
    writer = opened(pg, keys)
    writer.write(made(keys.schema(), [(kind, (1,), "new")]))
    writer.flush()

    pg.db.execute("SET lock_timeout = '2s'; INSERT INTO b.child VALUES (1)")

    writer.stage()
    assert pg.rows("SELECT k0, v FROM b.t") == [(1, "new")]
