"""Where a running job is, and why nothing moves: statuses, live counters, receipts, units that are lost."""
