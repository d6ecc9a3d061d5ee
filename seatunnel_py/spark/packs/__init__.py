"""Runs packs of units on Spark workers."""
