"""Three runs of CI with different parts have run all end-to-end tests, and each has the core."""

from __future__ import annotations

import pytest

from tests.kit.rotation import CORE, Rotation, is_rotated

ONE_BY_ONE = [f"e2e/test_metrics.py::test_a[{at}]" for at in range(7)]
TOGETHER = [f"e2e/page/test_editor.py::test_{letter}" for letter in "abc"]
ALWAYS = [f"{CORE[0]}::test_a", "tests/unit/test_b.py::test_b"]
TESTS = [*ALWAYS, *TOGETHER, *ONE_BY_ONE]


def test_each_test_is_in_one_part_or_in_all() -> None:
    parts = [Rotation(number, 3).chosen(TESTS) for number in (1, 2, 3)]

    assert all([one for one in part if not is_rotated(one)] == ALWAYS for part in parts)
    rotated = [one for part in parts for one in part if is_rotated(one)]
    assert sorted(rotated) == sorted([*TOGETHER, *ONE_BY_ONE])


def test_a_file_that_stays_together_is_in_one_part_and_others_are_spread() -> None:
    parts = [Rotation(number, 3).chosen(TESTS) for number in (1, 2, 3)]

    (whole,) = [part for part in parts if TOGETHER[0] in part]
    assert set(TOGETHER) <= set(whole)
    assert all(2 <= sum(one in part for one in ONE_BY_ONE) <= 3 for part in parts)


@pytest.mark.parametrize("text", ["0/3", "4/3", "three"])
def test_a_part_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        Rotation.parse(text)
