"""Which column of the catalog a column of the log is: proved by the order of attribute numbers, or refused."""

from __future__ import annotations

import pytest

from seatunnel_connectors.postgres_cdc.pgoutput.column_identities import GONE, Attribute, UnclearColumnError, identities
from seatunnel_connectors.postgres_cdc.pgoutput.relations import RelationColumn

INT = 23
PLAN = {"id": 1, "a": 2, "b": 3}


def catalog(*names: str | None) -> list[Attribute]:
    """Columns with the numbers from 1 on; None: dropped."""
    return [
        Attribute(number, name or f"dropped {number}", INT, -1, False, False, None, dropped=name is None)
        for number, name in enumerate(names, 1)
    ]


def found(logged: str, *names: str | None, needs_all: bool = True) -> tuple[int, ...]:
    columns = [RelationColumn(name, INT, -1) for name in logged.split()]
    return identities(PLAN, columns, catalog(*names), needs_all=needs_all)


@pytest.mark.parametrize(
    ("logged", "names", "numbers"),
    [
        ("id a b c", ("id", "a", "b", "c"), (1, 2, 3, 4)),
        ("id a c", ("id", "a", "c"), (1, 2, 3)),
        ("id x y", ("id", "later", "later too"), (1, 2, 3)),
        ("id b", ("id", None, "b"), (1, 3)),
        ("id x", ("id", None, "later"), (1, 3)),
        ("id a b c", ("id", "a", "b", None), (1, 2, 3, GONE)),
        ("id a b d", ("id", "a", "b", None, "d"), (1, 2, 3, 5)),
    ],
    ids=["added", "renamed", "two renamed twice", "dropped", "dropped and renamed", "added, gone by now", "after another"],
)  # fmt: skip
def test_what_the_order_or_the_name_proves(
    logged: str, names: tuple[str | None, ...], numbers: tuple[int, ...]
) -> None:
    assert found(logged, *names) == numbers


@pytest.mark.parametrize(
    ("logged", "names"),
    [
        ("id a b c", ("id", "a", "b", None, "d")),  # c was 4 and is dropped, or is 5 and is called d
        ("id a x", ("id", "a", None, None)),  # b got another name, or was dropped before x was added
        ("id a", ("id", "a", "b")),  # the publication leaves b out
    ],
    ids=["dropped or renamed", "renamed or added", "not published"],
)
def test_what_is_not_proved_is_refused(logged: str, names: tuple[str | None, ...]) -> None:
    with pytest.raises(UnclearColumnError):
        found(logged, *names)


def test_a_new_column_may_be_unclear_if_its_earlier_values_have_no_use() -> None:
    assert found("id a b c", "id", "a", "b", None, "d", needs_all=False) == (1, 2, 3, 0)
    with pytest.raises(UnclearColumnError):
        found("id a x", "id", "a", None, None, needs_all=False)
