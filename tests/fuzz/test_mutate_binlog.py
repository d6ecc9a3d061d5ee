"""A short run of the mutation fuzzer; the long one is ``python -m tests.fuzz.mutate_binlog``."""

from __future__ import annotations

import pytest

from tests.fuzz.mutate_binlog import CAMPAIGN, run


def test_mutants_give_right_rows_or_are_refused() -> None:
    """Bar 10 of issue 25: nothing but typed errors and right rows, none slower than a second of CPU."""
    report = run(400, seed=25, processes=1)

    assert not report.failures
    assert sum(report.verdicts.values()) == 400


@pytest.mark.parametrize("ordinal", [2884, 53942, 68302])
def test_a_date_of_a_forged_year_is_no_error(ordinal: int) -> None:
    """Three bytes hold years up to 32,767; Arrow has them, Python does not."""
    assert "read" in CAMPAIGN.judge(CAMPAIGN.make(1795790111, ordinal))
