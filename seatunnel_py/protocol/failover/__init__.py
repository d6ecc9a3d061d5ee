"""Failures: what restarts, from where, and what is restored."""
