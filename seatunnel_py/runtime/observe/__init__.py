"""Events, the log, receipts, counters and diagnostics."""
