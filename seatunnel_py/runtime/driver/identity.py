"""Identifies a job and its current driver for chains and targets."""

from __future__ import annotations

from seatunnel_py.runtime.resume.job_claim import JobClaim
from seatunnel_py.runtime.values.chain_builder import JobIdentity
from seatunnel_py.runtime.values.settings import Settings


def identity_of(job_id: str, authority: JobClaim, settings: Settings) -> JobIdentity:
    """Build the identity that chains and targets get."""
    return JobIdentity(
        job_id,
        authority.lineage,
        authority.incarnation,
        f"{settings.exchange.rstrip('/')}/staged",
        settings.errors,
        settings.store,
        settings.fresh,
        authority.begins_lineage,
    )
