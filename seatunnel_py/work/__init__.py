"""Holds the code that workers import: units, their results, and the one function that runs a unit."""
