"""Output: progress, receipts, problems, and the only way to a terminal."""
