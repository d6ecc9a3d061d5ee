"""How tests are spread over processes: each test in one piece, and a module's fixtures are set up once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.spread import LONG, ROOT, SHARING, piece, rank

KILLED = "e2e/test_killed_driver.py::test_a_fan_out"


def test_end_to_end_tests_are_spread_one_by_one() -> None:
    assert piece(f"{KILLED}[1]") == f"{KILLED}[1]"
    assert piece(f"{KILLED}[a::b]") != piece(f"{KILLED}[a::c]")


@pytest.mark.parametrize("path", ["e2e/test_cluster.py", "tests/protocol/test_limits.py"])
def test_a_file_stays_together(path: str) -> None:
    """A unit test's file is short; a file with a fixture of the module would start its servers twice."""
    assert piece(f"{path}::test_one") == piece(f"{path}::test_two") == path


def test_one_spark_application_serves_a_folder() -> None:
    assert piece("tests/spark/sql/test_catalyst.py::test_one") == piece("tests/spark/sql/test_generic.py::test_two")


def test_long_tests_come_first() -> None:
    assert rank("e2e/test_cluster.py") < rank("tests/spark/test_engine.py") < rank("tests/unit/cli/test_copy.py")


def test_named_places_exist() -> None:
    """A renamed folder or file would silently be spread in another way."""
    assert [place for place in (*LONG, *SHARING) if not any(Path(ROOT).glob(f"{place}*"))] == []
