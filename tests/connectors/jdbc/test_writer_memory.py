"""The memory of PostgreSQL's writers: a unit that has ended keeps no rows."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pyarrow as pa
import pytest

from seatunnel_py.api import Batch, Position, RowKind
from tests.connectors.jdbc.conftest import PostgresPlace
from tests.connectors.jdbc.test_postgres_write import SCHEMA, Target

pytestmark = pytest.mark.postgres

ROWS = 20_000


@pytest.fixture
def uncollected() -> Iterator[None]:
    """The collector comes late: few objects hold many rows."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def large(first: int, kind: RowKind) -> Batch:
    ids = range(first, first + ROWS)
    data = pa.record_batch([[*ids], [f"row {number} {'x' * 80}" for number in ids]], schema=SCHEMA.arrow())
    kinds = pa.array([kind.value] * ROWS, pa.uint8())
    return Batch(SCHEMA.path, data, end=Position({"after": first}), kinds=kinds)


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("recipe", ["direct", "staged"])
@pytest.mark.parametrize("kind", [RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE])
def test_units_that_have_ended_keep_no_rows(pg: PostgresPlace, kind: RowKind, recipe: str) -> None:
    target = Target(pg, is_exactly_once=True, exactly_once_recipe=recipe)
    before = pa.total_allocated_bytes()
    for unit in range(6):
        target.write(large(unit * ROWS, kind), data_id=f"u{unit}@")

    assert pa.total_allocated_bytes() - before < large(0, kind).data.nbytes
