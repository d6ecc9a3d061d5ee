"""A short run of the mutation fuzzer of replication streams; the long one is ``python -m
tests.fuzz.mutate_replication``."""

from __future__ import annotations

from tests.fuzz.mutate_replication import run


def test_mutants_are_decoded_rightly_or_refused() -> None:
    """F-C35: a typed error or the rows of a plain decoder, none slower than a second of CPU."""
    report = run(600, seed=20, processes=1)

    assert not report.failures
    assert sum(report.verdicts.values()) == 600
