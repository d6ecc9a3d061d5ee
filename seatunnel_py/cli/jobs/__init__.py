"""Implements the commands `jobs`, `quarantine` and `state`, which inspect and control jobs."""
