"""Rows on their way through a unit."""
