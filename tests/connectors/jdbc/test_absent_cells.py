"""Cells that the source did not send stay as they are in the target, whatever the database, the recipe and the cuts
between units, batches and blocks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from seatunnel_connectors.jdbc.postgres.write import copy_loader
from seatunnel_connectors.jdbc.statements import writer as statement_writer
from seatunnel_py.api.process.resources import close_all
from tests.connectors.jdbc.partial_history import Change, State, apply, histories
from tests.connectors.jdbc.partial_targets import (
    VALUES,
    VERSION,
    Target,
    any_target,
    generic,
    target,
)

__all__ = ["any_target", "target"]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a unit have several blocks."""
    monkeypatch.setattr(copy_loader, "BLOCK_BYTES", 1_000)
    monkeypatch.setattr(statement_writer, "BLOCK_ROWS", 4)


def recipe(how: str) -> dict[str, Any]:
    return {"is_exactly_once": True, "exactly_once_recipe": how} if " " not in how else {}


def as_rows(state: State) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in state.values()), key=repr)


def comparable(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """As the model has them: SQLite gives decimals as numbers or texts, and times as texts."""
    found = []
    for *first, number, value, version, time in rows:
        if isinstance(time, str):
            time = datetime.fromisoformat(time)
        decimal = None if number is None else Decimal(str(number)).quantize(Decimal("0.01"))
        found.append((*first, decimal, None if value is None else bytes(value), version, time))
    return sorted(found, key=repr)


def cut(chance: random.Random, rows: Sequence[Any], most: int) -> list[Sequence[Any]]:
    parts, start = [], 0
    while start < len(rows):
        end = start + chance.randrange(1, most + 1)
        parts.append(rows[start:end])
        start = end
    return parts


def run(target: Target, chance: random.Random, changes: Sequence[Change], **model: Any) -> None:
    """Write the changes in units, some of them twice, and compare the table after each commit."""
    state: State = {}
    for number, units in enumerate(cut(chance, cut(chance, changes, 14), 3), 1):
        pieces = []
        for place, unit in enumerate(units):
            batches = cut(chance, unit, 6)
            pieces.append(target.stage(f"{number}.{place}", *batches))
            if chance.random() < 0.2 and "repeats" not in model:
                pieces[-1] = target.stage(f"{number}.{place}", *batches, attempt=1)
            assert pieces[-1].rows == len(unit), "every row is confirmed"
            state = apply(state, unit, model.get("version"), upsert=model.get("upsert", True))
        target.commit(number, *pieces)
        target.commit(number, *pieces)
        assert comparable(target.rows) == as_rows(state), f"after commit {number}"


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("how", ["at least once", "direct", "staged"])
def test_a_history_has_the_effect_of_its_rows(target: Target, how: str, seed: int) -> None:
    chance = random.Random(f"{how} {seed}")
    target.plan(**recipe(how))
    run(target, chance, histories(chance, 160, VALUES))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("how", ["at least once", "direct", "staged"])
def test_a_row_that_comes_late_changes_no_cell(target: Target, how: str) -> None:
    chance = random.Random(f"version {how}")
    target.plan(version_column="v", **recipe(how))
    run(target, chance, histories(chance, 160, VALUES, deletes=False, version=VERSION), version=VERSION)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("how", ["at least once", "direct"])
def test_updates_that_never_insert(any_target: Target, how: str) -> None:
    """``enable_upsert = false``: an insert is an INSERT, and an update changes a row that is there."""
    chance = random.Random(f"no upsert {how}")
    any_target.plan(enable_upsert=False, **recipe(how))
    values = (tuple(range(40)), *VALUES[1:])
    repeats = {} if how == "direct" else {"repeats": False}  # without a record an insert cannot be repeated
    run(any_target, chance, histories(chance, 160, values, upsert=False), upsert=False, **repeats)


@pytest.mark.usefixtures("small_blocks")
def test_a_database_without_an_upsert_statement(request: pytest.FixtureRequest) -> None:
    chance = random.Random("generic")
    target = generic(request)
    target.plan()
    run(target, chance, histories(chance, 160, VALUES))
    close_all()
