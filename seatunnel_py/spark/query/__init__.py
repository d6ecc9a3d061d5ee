"""Runs queries of the Sql transform as Spark jobs."""
