"""Commits after a durable record: their order, retries, fencing and retention."""
