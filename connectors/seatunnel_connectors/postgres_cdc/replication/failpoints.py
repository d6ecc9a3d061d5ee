"""The failpoints of Postgres-CDC."""

from __future__ import annotations

from seatunnel_py.api import failpoint

PUBLICATION_MADE = failpoint("postgres_cdc.publication.made", "The publication is there; the slot is not.")
SLOT_MADE = failpoint("postgres_cdc.slot.made", "The slot is there; no record of the job names it.")
POSITION_CONFIRMED = failpoint("postgres_cdc.position.confirmed", "The server may forget the log up to a checkpoint.")
