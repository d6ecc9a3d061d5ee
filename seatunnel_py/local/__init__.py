"""Runs the same units in this process: for tests, simulation and previews. No Spark."""
