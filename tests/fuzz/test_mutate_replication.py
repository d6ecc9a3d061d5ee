"""A short run of the mutation fuzzer of replication streams; the long one is ``python -m
tests.fuzz.mutate_replication``."""

from __future__ import annotations

import pytest

from tests.fuzz.mutate_replication import case_of, judge_case, run


def test_mutants_are_decoded_rightly_or_refused() -> None:
    """F-C35: a typed error or the rows of a plain decoder, none slower than a second of CPU."""
    report = run(600, seed=20, processes=1)

    assert not report.failures
    assert sum(report.verdicts.values()) == 600


@pytest.mark.parametrize("ordinal", [720, 157816])
def test_a_transaction_without_a_position_is_refused(ordinal: int) -> None:
    """Its rows were passed over as those of a transaction that was read before."""
    assert judge_case(case_of(1795789602, ordinal)) == "refused"
