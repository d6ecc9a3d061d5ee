"""Transforms that keep, merge or rename tables, one module each."""
