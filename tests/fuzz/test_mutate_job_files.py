"""A short run of the mutation fuzzer; the long one is ``python -m tests.fuzz.mutate_job_files``."""

from __future__ import annotations

from tests.fuzz.mutate_job_files import run


def test_mutants_are_read_or_refused() -> None:
    """Nothing but typed errors and valid jobs, none slower than a second of CPU."""
    report = run(300, seed=20, processes=1)

    assert not report.failures
    assert sum(report.verdicts.values()) == 300
