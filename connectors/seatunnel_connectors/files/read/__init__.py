"""Reads files: which ones, how they are divided, and their rows."""
