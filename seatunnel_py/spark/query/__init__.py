"""Queries of the Sql transform as Spark jobs."""
