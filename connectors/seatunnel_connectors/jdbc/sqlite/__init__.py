"""Reads and writes SQLite, through the standard library: one file, one writer at a time, types that are only hints."""
