"""Keeps the ledger in the target's schema, and runs the commits that write it."""
