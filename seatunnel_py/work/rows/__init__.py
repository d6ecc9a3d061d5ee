"""Moves rows through a unit."""
