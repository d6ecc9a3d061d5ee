"""Finds the bad rows of a unit and quarantines them."""
