"""Translates SeaTunnel's SQL to Spark's."""
