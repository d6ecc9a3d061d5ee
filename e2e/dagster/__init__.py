"""Definitions that a real Dagster loads and runs, in a virtual environment of its own."""
