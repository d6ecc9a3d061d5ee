"""Implements the data plane on Spark: the only package that imports pyspark, and only inside functions and its own
modules."""
