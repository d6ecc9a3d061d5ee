"""A short form of ``quiet_tables.py``."""

from __future__ import annotations

from e2e.cdc.quiet_tables import TIMES_MAX, measured
from e2e.cdc.test_postgres_cdc import Followed, followed, logical

__all__ = ["followed", "logical"]


def test_the_log_of_other_tables_is_not_kept(followed: Followed) -> None:
    """F-C4."""
    assert measured(followed, 30.0, 5.0).times <= TIMES_MAX
