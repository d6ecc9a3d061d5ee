"""Numbers of runs: positive, of 63 bits, the same after a restart, and different for different runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.web.rest_v2.job_numbers import NUMBER_MAX, JobNumbers, number_of


def test_a_number_is_from_the_id_alone() -> None:
    """No file, no database: these numbers may never change."""
    assert number_of("one") == 8544106591765445504
    assert number_of("nightly-20261129-004317-c8d7c7") == number_of("nightly-20261129-004317-c8d7c7")
    numbers = {number_of(f"run-{at}") for at in range(20_000)}
    assert len(numbers) == 20_000 and min(numbers) > 0 and max(numbers) <= NUMBER_MAX


@pytest.mark.parametrize(
    ("run", "own"),
    [
        ("733584788375666689", True),
        ("9223372036854775807", True),
        ("9223372036854775808", False),
        ("0", False),
        ("007", False),
        ("\u0661", False),
    ],
)
def test_a_run_that_is_called_by_a_number_has_it(run: str, own: bool) -> None:
    """As clients submit it."""
    assert (str(number_of(run)) == run) is own


def test_both_kinds_of_ids_name_a_run(tmp_path: Path) -> None:
    """A text of no known run stays as it is."""
    runs = ["a", "b"]
    numbers = JobNumbers(tmp_path / "n.json", lambda: runs)

    assert numbers.run(str(number_of("b"))) == "b" and numbers.run("b") == "b" and numbers.run("12") == "12"
    runs.append("c")
    assert numbers.run(str(number_of("c"))) == "c"
    assert list(tmp_path.iterdir()) == []


def test_two_runs_with_one_number_get_two(tmp_path: Path) -> None:
    """The second one keeps its number after a restart, whichever is asked for first, and also when the first is gone."""

    def small(run: str, turn: int) -> int:
        return 5 + turn

    file = tmp_path / "n.json"
    first = JobNumbers(file, lambda: ["a", "b", "c"], small)
    assert [first.of(run) for run in ("a", "b", "c")] == [5, 6, 7]
    again = JobNumbers(file, lambda: ["b", "c"], small)
    assert [again.of(run) for run in ("c", "b")] == [7, 6]
    assert again.run("7") == "c"


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """Other numbers for the same jobs would be worse."""
    (tmp_path / "n.json").write_text("{")
    with pytest.raises(SeaTunnelError, match=r"n\.json cannot be read"):
        JobNumbers(tmp_path / "n.json", list)
