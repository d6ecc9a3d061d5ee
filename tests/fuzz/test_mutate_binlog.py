"""A short run of the mutation fuzzer; the long one is ``python -m tests.fuzz.mutate_binlog``."""

from __future__ import annotations

from tests.fuzz.mutate_binlog import run


def test_mutants_give_right_rows_or_are_refused() -> None:
    """Bar 10 of issue 25: nothing but typed errors and right rows, none slower than a second of CPU."""
    report = run(400, seed=25, processes=1)

    assert not report.failures
    assert sum(report.verdicts.values()) == 400
