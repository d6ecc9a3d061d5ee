"""Transforms that keep, drop or mark rows, one module each."""
