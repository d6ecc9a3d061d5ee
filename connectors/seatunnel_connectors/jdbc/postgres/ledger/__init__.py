"""The ledger in the target's schema, and the commits that write it."""
