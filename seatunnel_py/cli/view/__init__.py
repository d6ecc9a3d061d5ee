"""Renders output: progress, receipts, problems; holds the only path to a terminal."""
