"""Which differing rows are repaired, and which are refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from seatunnel_py.plan.tables.table_refresh import RefreshWish
from seatunnel_py.reconcile import repairs
from seatunnel_py.reconcile.repairs import DifferingKeys, planned
from seatunnel_py.reconcile.report import ComparisonState, TableReport

PLACE = ("shop.orders", "there.orders")
KEYS = np.array([3, 2**63 + 5], np.uint64)


def report(*, more: bool = False, by_key: tuple[str, ...] = ("id",)) -> TableReport:
    counts = {"missing": 3, "different": 2, "surplus": 1}
    return TableReport(*PLACE, ComparisonState.DIFFERENT, 10, 9, counts, more=more, by_key=by_key)


def test_exactly_the_differing_keys_are_wished_for() -> None:
    (found,) = planned([report()], {PLACE: DifferingKeys(KEYS, True, column="id", values=("1", "2"))})
    assert found.wish == RefreshWish("", PLACE[0], column="id", values=("1", "2"), keys=frozenset({3, 2**63 + 5}))
    assert (found.inserts, found.updates, found.deletes, found.rows) == (3, 2, 1, 6)
    assert found.to_plain() == {"table": PLACE[0], "target": PLACE[1], "insert": 3, "update": 2, "delete": 1}


@pytest.mark.parametrize(
    ("given", "keys", "reason", "remedy"),
    [
        (report(), DifferingKeys(KEYS, False), "does not follow a log", "run the job again"),
        (report(), None, "does not follow a log", "run the job again"),
        (report(by_key=()), DifferingKeys(KEYS, True), "no key", "table reset"),
        (report(), DifferingKeys(KEYS, True, sources=2), "several tables", "statements of your own"),
        (report(more=True), DifferingKeys(KEYS, True), "more than 100,000 rows", "table refresh"),
    ],
)
def test_others_are_refused_with_the_way_on(
    given: TableReport, keys: DifferingKeys | None, reason: str, remedy: str
) -> None:
    (found,) = planned([given], {} if keys is None else {PLACE: keys})
    assert found.wish is None and reason in found.reason and remedy in found.remedy
    assert found.to_plain()["reason"] == found.reason


def test_too_many_keys_are_a_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repairs, "KEYS_MAX", 1)
    (found,) = planned([report()], {PLACE: DifferingKeys(KEYS, True)})
    assert found.wish is None


def test_equal_tables_need_none() -> None:
    assert planned([TableReport(*PLACE, ComparisonState.EQUAL, 10, 10)], {}) == ()


def test_a_wish_survives_its_request() -> None:
    wish = RefreshWish("r", "shop.orders", "id > 5", "id", ("1", "2"), frozenset({7, 2**64 - 1}))
    assert RefreshWish.of("r", "shop.orders", wish.rows_plain()) == wish
    assert RefreshWish.of("r", "shop.orders", {}) == RefreshWish("r", "shop.orders")
