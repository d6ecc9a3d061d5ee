"""Failures: decisions, regions, restarts, and restoring of records."""
