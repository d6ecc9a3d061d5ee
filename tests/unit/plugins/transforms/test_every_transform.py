"""What holds of every transform: null rows, no rows, slices, kinds, masks and positions come through."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from transform_cases import EVERY, applied, make, rows, table, values

from seatunnel_py.api import Transform
from seatunnel_py.testing import TransformTarget, check_transform

SCHEMA = table(key=("id",), id="bigint", s="string", n="int")


def case(name: str) -> Transform:
    module, factory = name.split(":")
    found: Any = getattr(importlib.import_module(f"seatunnel_plugins.transforms.{module}"), factory)
    return make(found, SCHEMA, **EVERY[name])


@pytest.mark.parametrize("name", EVERY)
def test_no_rows_give_no_rows(name: str) -> None:
    assert sum(batch.rows for batch in applied(case(name), rows(SCHEMA))) == 0


@pytest.mark.parametrize("name", EVERY)
def test_null_values_and_kinds_come_through(name: str) -> None:
    batch = rows(SCHEMA, (1, None, None), (2, "a,b", 3), (3, "", None), kinds=[0, 2, 1], Delay=[1, None, 2])

    found = applied(case(name), batch)

    assert sum(one.rows for one in found) == 3


@pytest.mark.parametrize("name", EVERY)
def test_plain_inserts_stay_plain_inserts(name: str) -> None:
    for batch in applied(case(name), rows(SCHEMA, (1, "a", 2))):
        assert batch.kinds is None


@pytest.mark.parametrize("name", EVERY)
def test_two_halves_give_what_the_whole_gives(name: str) -> None:
    given = [(number, "a" * (number % 3) + ",b" * (number % 2), number) for number in range(10)]
    transform = case(name)

    whole = [row for batch in applied(transform, rows(SCHEMA, *given)) for row in values(batch)]
    halves = [
        row
        for part in (given[:5], given[5:])
        for batch in applied(transform, rows(SCHEMA, *part))
        for row in values(batch)
    ]

    assert whole == halves


@pytest.mark.parametrize("name", EVERY)
def test_what_it_declares_holds(name: str) -> None:
    """By the kit that authors of plugins use."""
    module, factory = name.split(":")
    found: Any = getattr(importlib.import_module(f"seatunnel_plugins.transforms.{module}"), factory)
    given = [(1, None, None), (2, "a,b", 3), (3, "", None), (4, "ab", 4), (5, '{"a": 1}', 5), (6, "☃,", -1)]

    report = check_transform(
        TransformTarget(found(), EVERY[name], SCHEMA, given, new_kinds=name.startswith("rows.row_kind_extractor"))
    )

    assert not report.broken, report.text
