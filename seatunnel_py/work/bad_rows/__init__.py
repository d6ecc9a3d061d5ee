"""Finds the bad rows of a unit and sets them aside."""
