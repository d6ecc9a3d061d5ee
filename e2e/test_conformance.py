"""SeaTunnel's own job files, run and judged: none of those in scope is left over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from e2e.conformance.report import totals
from e2e.conformance.runner import Result, judge

DIRECTORY = Path(os.environ.get("SEATUNNEL_CONFORMANCE") or Path(__file__).parents[2] / "shared" / "conformance")


@pytest.mark.conformance
@pytest.mark.timeout(1_500)
@pytest.mark.skipif(
    not (DIRECTORY / "index.json").is_file(),
    reason="no conformance directory: SEATUNNEL_CONFORMANCE names it, else ../shared/conformance is looked for",
)
def test_jobs_of_the_peer_behave_as_expected(tmp_path: Path) -> None:
    """Every job in scope passes or fails as it should, and leaves the rows that it should. The bar lets two of them be
    left over, which would hide the next two that break."""
    judged = list(judge(DIRECTORY, tmp_path))

    left_over = [f"{each.job}: {each.reason}" for each in judged if each.result is Result.LEFT_OVER]
    assert not left_over, "\n".join([totals(judged), *left_over])
    assert any(each.result is Result.EXPECTED for each in judged)
    assert all(each.reason for each in judged if each.result is Result.SKIPPED)
