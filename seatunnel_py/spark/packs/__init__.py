"""Packs of units on Spark workers."""
