"""Column lineage of random plans (issue 26, bar 8; long form: ``python -m tests.lineage``)."""

from __future__ import annotations

from pathlib import Path

from hypothesis import settings

from tests.lineage.check import Outcome, check
from tests.lineage.random_plans import MAKERS

PLANS = settings().max_examples


def test_a_column_outside_of_a_lineage_never_changes_the_output(tmp_path: Path) -> None:
    outcome = Outcome()
    for seed in range(PLANS):
        check(seed, tmp_path, outcome)
    assert not outcome.violations, outcome.violations
    plugins = {one for one in outcome.seen if one[0].isupper()}
    assert len(plugins) == len(MAKERS), "each transform occurs"
    assert outcome.seen["independent"] > PLANS
    # A lineage that named too many columns would have more of the second.
    assert outcome.seen["changed"] > 10 * outcome.seen["depends, and has not changed"]
