"""Rows on the terminal."""
